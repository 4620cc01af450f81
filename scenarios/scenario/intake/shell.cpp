#include "scenarios/scenario/intake/shell.hpp"

#include <algorithm>
#include <cctype>
#include <optional>

namespace spillway {

namespace {

bool is_name(std::string_view text) {
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text.front())) != 0) return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  });
}

class ShellReader {
 public:
  ShellReader(std::string_view text, ShellVariables variables, std::int64_t line)
      : text_(text), variables_(std::move(variables)), line_(line) {}

  ShellText read() {
    while (at_ < text_.size()) step();
    end_command();
    return std::move(out_);
  }

 private:
  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  void step() {
    const char c = peek();
    switch (c) {
      case '\\':
        return backslash();
      case '\'':
        return single_quoted();
      case '"':
        return double_quoted();
      case '$':
        return substitution();
      case '`':
        return backticks();
      case '#':
        if (!in_word_) return skip_line();
        break;
      case '\n':
        end_command();
        ++line_;
        ++at_;
        if (here_) here_document();
        file_.clear();
        return;
      case '<':
        if (placeholder()) return;
        return redirect();
      case '>':
        return redirect();
      case ';':
      case '|':
      case '&':
      case '(':
      case ')':
        end_command();
        ++at_;
        return;
      default:
        break;
    }
    ++at_;
    if (std::isspace(static_cast<unsigned char>(c)) != 0) return end_word();
    put(c);
  }

  void put(char c) {
    begin_word();
    word_.text += c;
  }
  void begin_word() {
    if (!in_word_ && command_.words.empty() && command_.environment.empty()) command_.line = line_;
    in_word_ = true;
  }

  /// A line that goes on; also where blanks or a comment follow the backslash, as in many pages.
  void backslash() {
    std::size_t next = at_ + 1;
    while (next < text_.size() &&
           (text_[next] == ' ' || text_[next] == '\t' || text_[next] == '\r')) {
      ++next;
    }
    const bool comment = next > at_ + 1 && next < text_.size() && text_[next] == '#';
    if (comment) next = std::min(text_.find('\n', next), text_.size());
    if (next >= text_.size() || text_[next] == '\n') {
      end_word();
      at_ = std::min(next + 1, text_.size());
      ++line_;
      return;
    }
    put(peek(1));
    at_ += 2;
  }

  void single_quoted() {
    begin_word();
    const std::size_t end = text_.find('\'', at_ + 1);
    if (end == std::string_view::npos) return unclosed("'");
    const std::string_view inside = text_.substr(at_ + 1, end - at_ - 1);
    word_.text += inside;
    line_ += std::count(inside.begin(), inside.end(), '\n');
    at_ = end + 1;
  }

  void double_quoted() {
    begin_word();
    ++at_;
    quoted_ = true;
    while (at_ < text_.size() && peek() != '"') {
      if (peek() == '$') {
        substitution();
      } else if (peek() == '`') {
        backticks();
      } else {
        if (peek() == '\\' && (peek(1) == '"' || peek(1) == '\\' || peek(1) == '$' ||
                               peek(1) == '`' || peek(1) == '\n')) {
          ++at_;
          if (peek() == '\n') {
            ++line_;
            ++at_;
            continue;
          }
        }
        if (peek() == '\n') ++line_;
        word_.text += peek();
        ++at_;
      }
    }
    quoted_ = false;
    if (at_ >= text_.size()) return unclosed("\"");
    ++at_;
  }

  void unclosed(const char* quote) {
    out_.fault = std::string("a quote ") + quote + " is never closed";
    at_ = text_.size();
  }

  void keep_open(std::string_view written) {
    begin_word();
    word_.text += written;
    word_.open.emplace_back(written);
  }

  void resolve(std::string_view name, std::string_view written,
               std::optional<std::string> otherwise = std::nullopt) {
    if (const auto known = variables_.find(name); known != variables_.end()) {
      insert(known->second);
    } else if (otherwise) {
      insert(*otherwise);
    } else {
      keep_open(written);
    }
  }

  /// Outside quotes a value is split into words.
  void insert(std::string_view value) {
    if (quoted_ || command_.words.empty()) {
      begin_word();
      word_.text += value;
      return;
    }
    for (const char c : value) {
      if (std::isspace(static_cast<unsigned char>(c)) != 0) {
        end_word();
      } else {
        put(c);
      }
    }
  }

  void substitution() {
    const std::size_t from = at_;
    const auto written = [&] { return text_.substr(from, at_ - from); };
    if (peek(1) == '{') {
      const std::size_t end = text_.find('}', at_);
      at_ = end == std::string_view::npos ? text_.size() : end + 1;
      std::string_view inside = text_.substr(from + 2, at_ - from - 3);
      std::optional<std::string> otherwise;
      if (const std::size_t bar = inside.find('-'); bar != std::string_view::npos) {
        otherwise = std::string(inside.substr(bar + 1));
        inside = inside.substr(0, bar);
        if (inside.ends_with(':')) inside.remove_suffix(1);
      }
      return resolve(inside, written(), otherwise);
    }
    if (peek(1) == '(') {
      int depth = 0;
      do {
        if (peek() == '(') ++depth;
        if (peek() == ')') --depth;
        if (peek() == '\n') ++line_;
        ++at_;
      } while (at_ < text_.size() && (depth != 0 || at_ == from + 1));
      const std::string_view all = written();
      const std::string_view inside = all.size() > 3 ? all.substr(2, all.size() - 3) : "";
      if (is_name(inside)) return resolve(inside, all);
      return keep_open(all);
    }
    ++at_;
    while (std::isalnum(static_cast<unsigned char>(peek())) != 0 || peek() == '_') ++at_;
    if (at_ == from + 1) return put('$');
    resolve(text_.substr(from + 1, at_ - from - 1), written());
  }

  void backticks() {
    const std::size_t end = text_.find('`', at_ + 1);
    const std::size_t next = end == std::string_view::npos ? text_.size() : end + 1;
    keep_open(text_.substr(at_, next - at_));
    at_ = next;
  }

  /// "<model>": a place that the reader of a page fills in.
  bool placeholder() {
    const std::size_t end = text_.find_first_of(" \t\n<>|;&", at_ + 1);
    if (end == std::string_view::npos || text_[end] != '>' || end == at_ + 1) return false;
    keep_open(text_.substr(at_, end + 1 - at_));
    at_ = end + 1;
    return true;
  }

  void redirect() {
    if (in_word_ && is_number(word_.text)) word_ = {}, in_word_ = false;
    end_word();
    const std::size_t from = at_;
    while (peek() == '<' || peek() == '>' || peek() == '&') ++at_;
    const std::string_view mark = text_.substr(from, at_ - from);
    const bool tabs = mark == "<<" && peek() == '-';  // that are not of the lines
    if (tabs) ++at_;
    while (peek() == ' ' || peek() == '\t') ++at_;
    if (mark == ">" || mark == ">>") {
      to_file_ = true;  // the word that follows
      return;
    }
    const std::size_t name = at_;
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(peek())) == 0 &&
           peek() != ';' && peek() != '&') {
      ++at_;
    }
    if (mark == "<<") here_ = (tabs ? "-" : "") + std::string(text_.substr(name, at_ - name));
  }

  /// The lines below a command with "<<EOF", as a file; they are still read as commands then, for
  /// they may be a script. A word in quotes keeps "$" as it is.
  void here_document() {
    std::string end = *here_;
    here_.reset();
    if (file_.empty()) return;
    const bool tabs = end.starts_with('-');
    if (tabs) end.erase(0, 1);
    const bool plain = end.find_first_of("'\"\\") != std::string::npos;
    std::erase_if(end, [](char c) { return c == '\'' || c == '"' || c == '\\'; });
    const std::size_t from = at_;
    const std::int64_t first = line_;
    word_ = {};
    quoted_ = true;
    while (at_ < text_.size()) {
      const std::size_t next = std::min(text_.find('\n', at_), text_.size());
      std::string_view line = text_.substr(at_, next - at_);
      line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
      while (line.ends_with('\r') || line.ends_with(' ')) line.remove_suffix(1);
      if (line == end) break;
      while (tabs && peek() == '\t') ++at_;
      while (at_ <= next && at_ < text_.size()) {
        if (peek() == '$' && !plain) {
          substitution();
        } else {
          word_.text += text_[at_++];
        }
      }
    }
    out_.files[file_] += word_.text;
    word_ = {};
    quoted_ = in_word_ = false;
    at_ = from;
    line_ = first;
  }

  static bool is_number(std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
      return std::isdigit(static_cast<unsigned char>(c)) != 0;
    });
  }

  void skip_line() {
    while (at_ < text_.size() && peek() != '\n') ++at_;
  }

  void end_word() {
    if (!in_word_) return;
    in_word_ = false;
    ShellWord word = std::move(word_);
    word_ = {};
    if (to_file_) {
      to_file_ = false;
      file_ = std::move(word.text);
      return;
    }
    if (command_.words.empty()) {
      const std::size_t equals = word.text.find('=');
      if (equals != std::string::npos && is_name(std::string_view(word.text).substr(0, equals))) {
        if (word.open.empty()) {
          command_.environment[word.text.substr(0, equals)] = word.text.substr(equals + 1);
        }
        return;
      }
      // A prompt in front of a command.
      if (word.text == "$" || word.text == "%" || word.text == "export") return;
    }
    command_.words.push_back(std::move(word));
  }

  void end_command() {
    end_word();
    to_file_ = false;
    if (command_.words.size() > 1 && command_.words.front().text == "tee") {
      file_ = command_.words.back().text;
    }
    if (command_.words.empty()) {
      for (auto& [name, value] : command_.environment) {
        const auto [old, fresh] = variables_.try_emplace(name, value);
        if (!fresh && old->second != value) out_.reassigned.push_back(name);
        old->second = value;
      }
    } else {
      for (const auto& [name, value] : variables_) command_.environment.try_emplace(name, value);
      out_.commands.push_back(std::move(command_));
    }
    command_ = {};
  }

  std::string_view text_;
  ShellVariables variables_;
  std::int64_t line_;
  std::size_t at_ = 0;
  bool in_word_ = false;
  bool quoted_ = false;
  ShellWord word_;
  bool to_file_ = false;             ///< the word is what a command writes to
  std::string file_;                 ///< of the line
  std::optional<std::string> here_;  ///< what follows "<<", as written
  ShellCommand command_;
  ShellText out_;
};

}  // namespace

ShellText read_shell(std::string_view text, ShellVariables variables, std::int64_t first_line) {
  return ShellReader(text, std::move(variables), first_line).read();
}

}  // namespace spillway
