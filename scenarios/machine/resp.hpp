// A plain client of the Redis protocol (RESP2) over one TCP connection: one command, one answer.
//
// No pipelining and no library: a serving engine's connector (redis-py, LMCache) also sends one
// command and waits for its answer. Values are sent from and read into the caller's memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "sim/error.hpp"

struct addrinfo;  // of <netdb.h>

namespace spillway {

struct RedisAddress {
  std::string host;
  std::uint16_t port = 6379;
  /// "host:port", as it could be given again.
  std::string name() const;
};

/// HOST, HOST:PORT, or an IPv6 address in brackets, with or without a port. Throws InputError
/// (exit 2) at `where`.
RedisAddress parse_redis_address(const std::string& text, const SourceRef& where);

/// What went wrong with a server: one sentence that names it and says what was expected.
class RespError final : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct RespReply {
  enum class Kind { kStatus, kError, kInteger, kText, kList, kNothing };
  Kind kind = Kind::kNothing;
  std::string text;          ///< of a status, an error and a text
  std::int64_t integer = 0;  ///< an integer; of a text that get() placed, its bytes
  std::vector<RespReply> items{};
};

class RespConnection {
 public:
  /// Connects, and answers to `password` where it is not empty. No answer may take longer than
  /// `patience_s`. Throws RespError.
  RespConnection(const RedisAddress& address, const std::string& password, double patience_s);
  ~RespConnection();
  RespConnection(const RespConnection&) = delete;
  RespConnection& operator=(const RespConnection&) = delete;

  /// Any command of short words. Throws RespError where there is no answer, or none of RESP2; an
  /// error that the server answers is a reply.
  RespReply call(const std::vector<std::string>& words);
  /// The same, where only an answer of `kind` is right.
  RespReply expect(RespReply::Kind kind, const std::vector<std::string>& words);

  /// SET with an expiry; throws RespError unless the server answers OK.
  void set(const std::string& key, std::string_view value, std::uint32_t expires_s);
  /// GET of a value that has exactly the size of `into`; throws RespError where it has not.
  void get(const std::string& key, std::span<char> into);

  const std::string& name() const { return name_; }
  /// Whether the server is on this machine: both ends of the connection have the same address.
  bool local() const { return local_; }

 private:
  void connect_to(const RedisAddress& address);
  bool try_connect(const ::addrinfo& place, std::string& why);
  void log_in(const std::string& password);
  void send_command(const std::vector<std::string_view>& words);
  std::size_t receive(std::span<char> into, std::string_view command);
  void receive_some(std::string_view command);
  void receive_into(std::span<char> into, std::string_view command);
  std::string receive_line(std::string_view command);
  RespReply receive_reply(std::string_view command, int depth);
  std::int64_t length_of(const std::string& line, std::string_view command) const;
  [[noreturn]] void fail(const std::string& what) const;
  [[noreturn]] void fail_io(std::string_view command, int error) const;
  [[noreturn]] void refuse(std::string_view command, const RespReply& reply) const;

  std::string name_;
  double patience_s_;
  int fd_ = -1;
  bool local_ = false;
  std::string received_;  ///< bytes of answers that nobody has taken yet
  std::size_t taken_ = 0;
};

/// The figure of `field` in an answer to INFO; empty where it has none.
std::string info_field(const std::string& info, std::string_view field);

}  // namespace spillway
