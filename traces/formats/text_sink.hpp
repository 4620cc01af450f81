// Text on its way into a file, compressed or not.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "sim/output_file.hpp"

namespace spillway {

/// The plain sink; the file is complete or absent, never half, and absent without finish().
class TextSink {
 public:
  explicit TextSink(const std::string& path) : file_(path) {}
  virtual ~TextSink() = default;
  TextSink(const TextSink&) = delete;
  TextSink& operator=(const TextSink&) = delete;
  virtual void write(std::string_view text) { file_.write(text); }
  virtual void finish() { file_.commit(); }

 protected:
  OutputFile file_;
};

/// Compresses where `path` ends in .gz or .zst; "-" is standard output.
std::unique_ptr<TextSink> open_text_sink(const std::string& path);

}  // namespace spillway
