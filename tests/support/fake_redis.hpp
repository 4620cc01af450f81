// A server that speaks RESP2 on a port of its own, in threads of the test: it keeps what is SET,
// counts commands, and answers some of them as a test wants.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace spillway::test {

class FakeRedis {
 public:
  FakeRedis() : listener_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address);
    listen(listener_, 64);
    socklen_t size = sizeof address;
    getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    accepting_ = std::thread([this] { accept_all(); });
  }
  ~FakeRedis() {
    ended_ = true;
    shutdown(listener_, SHUT_RDWR);
    close(listener_);
    accepting_.join();
    {
      const std::lock_guard lock(mutex_);
      for (const int fd : open_) shutdown(fd, SHUT_RDWR);
    }
    for (std::thread& thread : serving_) thread.join();
    for (const int fd : open_) close(fd);
  }
  FakeRedis(const FakeRedis&) = delete;
  FakeRedis& operator=(const FakeRedis&) = delete;

  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

  /// `reply` is sent as it is to each `command` from now on; "close" ends the connection instead.
  void answer(const std::string& command, const std::string& reply) {
    const std::lock_guard lock(mutex_);
    answers_[command] = reply;
  }
  void set_password(const std::string& password) {
    const std::lock_guard lock(mutex_);
    password_ = password;
  }
  void set_memory(std::int64_t used, std::int64_t most) {
    const std::lock_guard lock(mutex_);
    memory_ =
        "used_memory:" + std::to_string(used) + "\r\nmaxmemory:" + std::to_string(most) + "\r\n";
  }
  void put(const std::string& key, const std::string& value) {
    const std::lock_guard lock(mutex_);
    values_[key] = value;
  }

  std::vector<std::string> keys() {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> out;
    for (const auto& [key, value] : values_) out.push_back(key);
    return out;
  }
  /// Of all commands so far, by name.
  std::map<std::string, int> commands() {
    const std::lock_guard lock(mutex_);
    return commands_;
  }
  /// The words of the last SET, without its value.
  std::vector<std::string> last_set() {
    const std::lock_guard lock(mutex_);
    return last_set_;
  }

 private:
  void accept_all() {
    while (!ended_) {
      const int fd = accept(listener_, nullptr, nullptr);
      if (fd < 0) return;
      const std::lock_guard lock(mutex_);
      open_.push_back(fd);
      serving_.emplace_back([this, fd] { serve(fd); });
    }
  }

  /// One connection's bytes, in the order of their coming.
  struct Input {
    int fd;
    std::string bytes{};
    bool more() {
      char piece[65536];
      const ssize_t got = recv(fd, piece, sizeof piece, 0);
      if (got > 0) bytes.append(piece, static_cast<std::size_t>(got));
      return got > 0;
    }
    bool line(std::string& out) {
      std::size_t end = 0;
      while ((end = bytes.find("\r\n")) == std::string::npos) {
        if (!more()) return false;
      }
      out = bytes.substr(0, end);
      bytes.erase(0, end + 2);
      return true;
    }
    bool word(std::string& out) {
      std::string head;
      if (!line(head) || head.empty() || head[0] != '$') return false;
      const auto size = static_cast<std::size_t>(std::stoul(head.substr(1)));
      while (bytes.size() < size + 2) {
        if (!more()) return false;
      }
      out = bytes.substr(0, size);
      bytes.erase(0, size + 2);
      return true;
    }
  };

  static bool send_all(int fd, std::string_view text) {
    while (!text.empty()) {
      const ssize_t sent = send(fd, text.data(), text.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      text.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }

  void serve(int fd) {
    Input input{fd};
    bool known = false;
    std::string head;
    while (input.line(head) && !head.empty() && head[0] == '*') {
      std::vector<std::string> words(std::stoul(head.substr(1)));
      for (std::string& word : words) {
        if (!input.word(word)) return;
      }
      const std::string reply = reply_to(words, known);
      if (reply == "close" || !send_all(fd, reply)) break;
    }
    shutdown(fd, SHUT_RDWR);
  }

  static std::string text(const std::string& value) {
    return "$" + std::to_string(value.size()) + "\r\n" + value + "\r\n";
  }

  std::string reply_to(const std::vector<std::string>& words, bool& known) {
    const std::lock_guard lock(mutex_);
    const std::string& name = words[0];
    ++commands_[name];
    if (const auto own = answers_.find(name); own != answers_.end()) return own->second;
    if (name == "AUTH") {
      known = words[1] == password_;
      return known ? "+OK\r\n" : "-WRONGPASS invalid username-password pair\r\n";
    }
    if (!password_.empty() && !known) return "-NOAUTH Authentication required.\r\n";
    if (name == "PING") return "+PONG\r\n";
    if (name == "INFO") return text(words[1] == "memory" ? memory_ : "redis_version:9.9.9\r\n");
    if (name == "EXISTS") return ":" + std::to_string(values_.count(words[1])) + "\r\n";
    if (name == "GET") {
      const auto at = values_.find(words[1]);
      return at == values_.end() ? "$-1\r\n" : text(at->second);
    }
    if (name == "SET") {
      values_[words[1]] = words[2];
      last_set_ = words;
      last_set_[2].clear();
      return "+OK\r\n";
    }
    if (name == "DEL") {
      for (std::size_t i = 1; i < words.size(); ++i) values_.erase(words[i]);
      return ":1\r\n";
    }
    return "-ERR unknown command\r\n";
  }

  int listener_;
  std::uint16_t port_ = 0;
  std::atomic<bool> ended_{false};
  std::mutex mutex_;
  std::map<std::string, std::string> answers_;
  std::map<std::string, std::string> values_;
  std::map<std::string, int> commands_;
  std::vector<std::string> last_set_;
  std::string password_;
  std::string memory_ = "used_memory:1000\r\nmaxmemory:0\r\n";
  std::vector<int> open_;
  std::vector<std::thread> serving_;
  std::thread accepting_;
};

}  // namespace spillway::test
