// The files that every page holds: style.css, page.js, the charting bundle and its licences, built
// into the binary.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace spillway {

struct Asset {
  std::string_view name;
  std::string_view text;
};

std::span<const Asset> assets();
/// The text of the asset of this name, which there is.
std::string_view asset(std::string_view name);
/// "'sha256-...'", as a content security policy names the text of an inline script or style.
std::string policy_hash(std::string_view text);

}  // namespace spillway
