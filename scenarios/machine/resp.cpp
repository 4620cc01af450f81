#include "scenarios/machine/resp.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>

#include "reports/format.hpp"

namespace spillway {

namespace {

using Kind = RespReply::Kind;

constexpr std::string_view kRedisExpected = "expected a Redis or Valkey server";
constexpr std::size_t kLongestLine = 64 * 1024;
constexpr std::int64_t kLongestText = 64 * 1024 * 1024;  ///< of an answer that is no value
constexpr std::int64_t kLongestList = 1024 * 1024;
constexpr std::size_t kReceiveBytes = 16 * 1024;
constexpr std::size_t kShown = 60;  ///< bytes of a wrong answer in an error
constexpr int kDeepest = 8;         ///< lists within lists
#ifdef MSG_NOSIGNAL
constexpr int kNoSignal = MSG_NOSIGNAL;
#else
constexpr int kNoSignal = 0;  // SO_NOSIGPIPE instead
#endif

timeval time_of(double seconds) {
  timeval out{};
  out.tv_sec = static_cast<decltype(out.tv_sec)>(seconds);
  out.tv_usec =
      static_cast<decltype(out.tv_usec)>((seconds - static_cast<double>(out.tv_sec)) * 1e6);
  return out;
}

struct FreeAddresses {
  void operator()(addrinfo* list) const { freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

/// The addresses of a host: a number needs no name service, which a static binary may not have.
Addresses addresses_of(const RedisAddress& address, std::string& why) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const std::string port = std::to_string(address.port);
  hints.ai_flags = AI_NUMERICHOST;
  if (getaddrinfo(address.host.c_str(), port.c_str(), &hints, &list) == 0) return Addresses(list);
  hints.ai_flags = 0;
  const int error = getaddrinfo(address.host.c_str(), port.c_str(), &hints, &list);
  if (error == 0) return Addresses(list);
  why = gai_strerror(error);
  return nullptr;
}

/// The address without the port, in the family's own bytes.
std::string bytes_of(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &address, sizeof v4);
    return {reinterpret_cast<const char*>(&v4.sin_addr), sizeof v4.sin_addr};
  }
  sockaddr_in6 v6{};
  std::memcpy(&v6, &address, sizeof v6);
  return {reinterpret_cast<const char*>(&v6.sin6_addr), sizeof v6.sin6_addr};
}

bool both_ends_here(int fd) {
  sockaddr_storage here{};
  sockaddr_storage there{};
  socklen_t size = sizeof here;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&here), &size) != 0) return false;
  size = sizeof there;
  if (getpeername(fd, reinterpret_cast<sockaddr*>(&there), &size) != 0) return false;
  return here.ss_family == there.ss_family && bytes_of(here) == bytes_of(there);
}

/// The text of a wrong answer, cut where it is long.
std::string shown_reply(std::string_view text) {
  const bool cut = text.size() > kShown;
  return printable(text.substr(0, kShown)) + (cut ? "..." : "");
}

void append_word(std::string& out, std::string_view word) {
  out += fmt::format("${}\r\n", word.size());
  out += word;
  out += "\r\n";
}

}  // namespace

std::string RedisAddress::name() const {
  const bool brackets = host.find(':') != std::string::npos;
  return brackets ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

RedisAddress parse_redis_address(const std::string& text, const SourceRef& where) {
  const auto refuse = [&]() -> RedisAddress {
    throw InputError(Fault::kUsage, where,
                     fmt::format("expected HOST or HOST:PORT with a port from 1 to 65535, found "
                                 "\"{}\"",
                                 printable(text)));
  };
  RedisAddress out;
  std::string_view rest = text;
  if (rest.starts_with('[')) {
    const std::size_t end = rest.find(']');
    if (end == std::string_view::npos) return refuse();
    out.host = rest.substr(1, end - 1);
    rest.remove_prefix(end + 1);
  } else {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    out.host = rest.substr(0, end);
    rest.remove_prefix(end);
  }
  if (out.host.empty() || out.host.find_first_of("/@ ") != std::string::npos) return refuse();
  if (rest.empty()) return out;
  if (rest[0] != ':') return refuse();
  rest.remove_prefix(1);
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), out.port);
  if (error != std::errc() || end != rest.data() + rest.size() || out.port == 0) return refuse();
  return out;
}

RespConnection::RespConnection(const RedisAddress& address, const std::string& password,
                               double patience_s)
    : name_(address.name()), patience_s_(patience_s) {
  connect_to(address);
  try {
    if (!password.empty()) log_in(password);
  } catch (...) {
    close(fd_);
    throw;
  }
}

RespConnection::~RespConnection() {
  if (fd_ >= 0) close(fd_);
}

void RespConnection::fail(const std::string& what) const {
  throw RespError(fmt::format("{} {}", name_, what));
}

void RespConnection::fail_io(std::string_view command, int error) const {
  if (error == EAGAIN || error == EWOULDBLOCK) {
    fail(fmt::format("did not answer {} within {:g} s; {}", command, patience_s_, kRedisExpected));
  }
  fail(fmt::format("closed the connection at {}{}; {}", command,
                   error == 0 ? "" : fmt::format(" ({})", std::strerror(error)), kRedisExpected));
}

void RespConnection::refuse(std::string_view command, const RespReply& reply) const {
  if (reply.text.starts_with("NOAUTH")) {
    fail("asks for a password; expected it in the environment variable REDISCLI_AUTH");
  }
  if (reply.text.starts_with("WRONGPASS") || command == "AUTH") {
    fail(fmt::format("refuses the password in the environment variable REDISCLI_AUTH (\"{}\")",
                     shown_reply(reply.text)));
  }
  if (reply.kind == Kind::kError) {
    fail(fmt::format("refuses {} (\"{}\"); expected a server that this user may read and write",
                     command, shown_reply(reply.text)));
  }
  fail(fmt::format("answers {} with something else than RESP2 says; {}", command, kRedisExpected));
}

void RespConnection::connect_to(const RedisAddress& address) {
  std::string why;
  const Addresses list = addresses_of(address, why);
  if (list == nullptr) {
    throw RespError(
        fmt::format("cannot find the host of {} ({}); {} there", name_, why, kRedisExpected));
  }
  for (const addrinfo* at = list.get(); at != nullptr; at = at->ai_next) {
    if (try_connect(*at, why)) return;
  }
  throw RespError(fmt::format("cannot connect to {} ({}); {} there", name_, why, kRedisExpected));
}

/// Not longer than the patience allows: a host that is down may say nothing at all.
bool RespConnection::try_connect(const addrinfo& place, std::string& why) {
  const int fd = socket(place.ai_family, place.ai_socktype, place.ai_protocol);
  const auto refused = [&](int error) {
    why = error == ETIMEDOUT ? fmt::format("no answer within {:g} s", patience_s_)
                             : std::strerror(error);
    if (fd >= 0) close(fd);
    return false;
  };
  if (fd < 0) return refused(errno);
  fcntl(fd, F_SETFD, FD_CLOEXEC);
  const int flags = fcntl(fd, F_GETFL);
  fcntl(fd, F_SETFL, flags | O_NONBLOCK);
  if (connect(fd, place.ai_addr, place.ai_addrlen) != 0) {
    if (errno != EINPROGRESS) return refused(errno);
    pollfd wait = {fd, POLLOUT, 0};
    if (poll(&wait, 1, static_cast<int>(patience_s_ * 1e3)) <= 0) return refused(ETIMEDOUT);
    int error = 0;
    socklen_t size = sizeof error;
    getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) return refused(error);
  }
  fcntl(fd, F_SETFL, flags);
  const timeval patience = time_of(patience_s_);
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  const int on = 1;  // as redis-py does
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
#ifdef SO_NOSIGPIPE
  setsockopt(fd, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on);
#endif
  fd_ = fd;
  local_ = both_ends_here(fd);
  return true;
}

void RespConnection::log_in(const std::string& password) {
  const RespReply reply = call({"AUTH", password});
  // A server without a password is as good.
  if (reply.kind == Kind::kError && reply.text.find("without any password") == std::string::npos) {
    refuse("AUTH", reply);
  }
}

void RespConnection::send_command(const std::vector<std::string_view>& words) {
  std::string head = fmt::format("*{}\r\n", words.size());
  std::string_view value;
  std::string tail;
  for (const std::string_view word : words) {
    if (word.size() <= kReceiveBytes) {
      append_word(value.empty() ? head : tail, word);
      continue;
    }
    head += fmt::format("${}\r\n", word.size());  // not copied: it may have megabytes
    value = word;
    tail = "\r\n";
  }
  std::array<std::string_view, 3> parts = {head, value, tail};
  for (std::size_t part = 0; part < parts.size();) {
    std::array<iovec, 3> pieces{};
    std::size_t count = 0;
    for (std::size_t i = part; i < parts.size(); ++i) {
      // sendmsg only reads; iovec is also for reading into.
      pieces[count++] = {const_cast<char*>(parts[i].data()), parts[i].size()};
    }
    msghdr message{};
    message.msg_iov = pieces.data();
    message.msg_iovlen = static_cast<decltype(message.msg_iovlen)>(count);
    const ssize_t sent = sendmsg(fd_, &message, kNoSignal);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) fail_io(words[0], errno);
    auto left = static_cast<std::size_t>(sent);
    while (part < parts.size() && left >= parts[part].size()) left -= parts[part++].size();
    if (part < parts.size()) parts[part].remove_prefix(left);
  }
}

void RespConnection::receive_into(std::span<char> into, std::string_view command) {
  const std::size_t kept = std::min(into.size(), received_.size() - taken_);
  std::memcpy(into.data(), received_.data() + taken_, kept);
  taken_ += kept;
  into = into.subspan(kept);
  while (!into.empty()) into = into.subspan(receive(into, command));
}

/// At least a byte.
std::size_t RespConnection::receive(std::span<char> into, std::string_view command) {
  ssize_t got = 0;
  do got = recv(fd_, into.data(), into.size(), 0);
  while (got < 0 && errno == EINTR);
  if (got <= 0) fail_io(command, got == 0 ? 0 : errno);
  return static_cast<std::size_t>(got);
}

void RespConnection::receive_some(std::string_view command) {
  received_.erase(0, taken_);
  taken_ = 0;
  std::array<char, kReceiveBytes> piece{};
  received_.append(piece.data(), receive(piece, command));
}

std::string RespConnection::receive_line(std::string_view command) {
  for (;;) {
    const std::size_t end = received_.find("\r\n", taken_);
    if (end != std::string::npos) {
      std::string out = received_.substr(taken_, end - taken_);
      taken_ = end + 2;
      return out;
    }
    // Another protocol is known by its first byte, and may never end its line.
    const bool other = received_.size() > taken_ &&
                       std::string_view("+-:$*").find(received_[taken_]) == std::string_view::npos;
    if (other || received_.size() - taken_ > kLongestLine) {
      fail(fmt::format("answers {} with \"{}\"; {}", command,
                       shown_reply(std::string_view(received_).substr(taken_)), kRedisExpected));
    }
    receive_some(command);
  }
}

std::int64_t RespConnection::length_of(const std::string& line, std::string_view command) const {
  std::int64_t out = 0;
  const char* end = line.data() + line.size();
  const auto [at, error] = std::from_chars(line.data() + 1, end, out);
  if (error == std::errc() && at == end) return out;
  fail(fmt::format("answers {} with \"{}\"; {}", command, shown_reply(line), kRedisExpected));
}

RespReply RespConnection::receive_reply(std::string_view command, int depth) {
  const std::string line = receive_line(command);
  const char type = line.empty() ? '\0' : line[0];
  RespReply out;
  if (type == '+' || type == '-') {
    out.kind = type == '+' ? Kind::kStatus : Kind::kError;
    out.text = line.substr(1);
    return out;
  }
  if (type == ':' || type == '$' || type == '*') {
    out.integer = length_of(line, command);
    out.kind = Kind::kInteger;
    if (type == ':') return out;
    const std::int64_t most = type == '$' ? kLongestText : kLongestList;
    if (out.integer >= -1 && out.integer <= most && depth <= kDeepest) {
      out.kind = out.integer < 0 ? Kind::kNothing : type == '$' ? Kind::kText : Kind::kList;
      if (out.kind == Kind::kText) {
        out.text.resize(static_cast<std::size_t>(out.integer) + 2);
        receive_into(out.text, command);
        out.text.resize(out.text.size() - 2);
      }
      for (std::int64_t i = 0; out.kind == Kind::kList && i < out.integer; ++i) {
        out.items.push_back(receive_reply(command, depth + 1));
      }
      return out;
    }
  }
  fail(fmt::format("answers {} with \"{}\"; {}", command, shown_reply(line), kRedisExpected));
}

RespReply RespConnection::call(const std::vector<std::string>& words) {
  send_command({words.begin(), words.end()});
  return receive_reply(words[0], 0);
}

RespReply RespConnection::expect(RespReply::Kind kind, const std::vector<std::string>& words) {
  RespReply reply = call(words);
  if (reply.kind != kind) refuse(words[0], reply);
  return reply;
}

void RespConnection::set(const std::string& key, std::string_view value, std::uint32_t expires_s) {
  const std::string seconds = std::to_string(expires_s);
  send_command({"SET", key, value, "EX", seconds});
  const RespReply reply = receive_reply("SET", 0);
  if (reply.kind != Kind::kStatus) refuse("SET", reply);
}

void RespConnection::get(const std::string& key, std::span<char> into) {
  send_command({"GET", key});
  const std::string line = receive_line("GET");
  if (line.starts_with('-')) refuse("GET", {Kind::kError, line.substr(1)});
  const std::int64_t bytes = line.starts_with('$') ? length_of(line, "GET") : -2;
  if (bytes != static_cast<std::int64_t>(into.size())) {
    fail(fmt::format("answers GET with \"{}\"; expected a value of {} bytes, as it was set",
                     shown_reply(line), into.size()));
  }
  receive_into(into, "GET");
  std::array<char, 2> end{};
  receive_into(end, "GET");
}

std::string info_field(const std::string& info, std::string_view field) {
  for (const std::string& line : split_lines(info)) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos || std::string_view(line).substr(0, colon) != field) continue;
    std::string out = line.substr(colon + 1);
    if (out.ends_with('\r')) out.pop_back();
    return out;
  }
  return "";
}

}  // namespace spillway
