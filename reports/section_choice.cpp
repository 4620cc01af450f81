#include "reports/section_choice.hpp"

#include <algorithm>

#include "sim/catalogue.hpp"

namespace spillway {

std::string section_name(const Section& section) {
  if (!section.id.empty()) return section.id;
  std::string out;
  for (const char c : section.heading) {
    const bool upper = c >= 'A' && c <= 'Z';
    const bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (upper || plain) {
      out += upper ? static_cast<char>(c - 'A' + 'a') : c;
    } else if (!out.empty() && out.back() != '-') {
      out += '-';
    }
  }
  if (out.ends_with('-')) out.pop_back();
  return out;
}

void keep_sections(Report& report, const std::vector<std::string>& names, std::string_view option) {
  std::vector<std::string> known;
  for (const Section& section : report.sections) known.push_back(section_name(section));
  std::vector<std::string_view> listed;
  for (const std::string& name : known) {
    if (!name.empty() && std::find(listed.begin(), listed.end(), name) == listed.end()) {
      listed.push_back(name);
    }
  }
  for (const std::string& name : names) {
    if (std::find(listed.begin(), listed.end(), name) != listed.end()) continue;
    throw InputError(Fault::kUsage, {std::string(option), 0, ""},
                     unknown_name("section", name, listed));
  }
  std::erase_if(report.sections, [&](const Section& section) {
    return std::find(names.begin(), names.end(), section_name(section)) == names.end();
  });
}

}  // namespace spillway
