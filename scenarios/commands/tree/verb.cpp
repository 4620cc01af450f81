#include "scenarios/commands/tree/verb.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>

namespace spillway {

std::string Option::value() const {
  if (kind == nullptr) return "";
  return choices.empty() ? std::string(kind->name) : fmt::format("{}", fmt::join(choices, "|"));
}

bool Option::given() const {
  return parsed->count() > 0;
}

Option& Option::describe(const ValueKind& its_kind, std::string its_help) {
  kind = &its_kind;
  help = std::move(its_help);
  return *this;
}

Option& Option::require() {
  required = true;
  parsed->required();
  return *this;
}

Option& Option::commas() {
  comma = true;
  parsed->delimiter(',');
  return *this;
}

Option& Option::hide() {
  hidden = true;
  return *this;
}

Option& Option::one_each() {
  parsed->allow_extra_args(false);
  return *this;
}

Option& Option::one_of(std::vector<std::string> all) {
  choices = std::move(all);
  parsed->check(CLI::IsMember(choices));
  return *this;
}

Option& Option::check(const std::function<std::string(const std::string&)>& fault) {
  parsed->check(fault);
  return *this;
}

Option& Option::needs(Option& other) {
  parsed->needs(other.parsed);
  help += fmt::format("; needs {}", other.name);
  return *this;
}

Option& Option::excludes(Option& other) {
  parsed->excludes(other.parsed);
  help += fmt::format("; not with {}", other.name);
  other.help += fmt::format("; not with {}", name);
  return *this;
}

namespace {

/// CLI::Range lets NaN through.
template <class T>
void limit(Option& option, T least, T most) {
  const std::string range = fmt::format("{} to {}", least, most);
  option.help += ", " + range;
  option.check([=](const std::string& text) {
    T value = 0;
    const bool in = CLI::detail::lexical_cast(text, value) && value >= least && value <= most;
    return in ? std::string() : fmt::format("Value {} not in range {}", text, range);
  });
}

}  // namespace

Option& Option::in_reals(double least, double most) {
  limit(*this, least, most);
  return *this;
}

Option& Option::in_wholes(std::int64_t least, std::int64_t most) {
  limit(*this, least, most);
  return *this;
}

Verb::Verb(std::string text, std::string lines)
    : summary(std::move(text)),
      examples(std::move(lines)),
      parser(std::make_shared<CLI::App>(summary)) {
  row("-h,--help", "Print this help message and exit", nullptr);
}

Verb::Verb(Verb& above, std::string word, std::string text, std::string lines)
    : name(std::move(word)),
      summary(std::move(text)),
      examples(std::move(lines)),
      parent(&above),
      parser(above.parser, above.parser->add_subcommand(name, summary)) {
  above.parser->require_subcommand(1);
  row("-h,--help", "Print this help message and exit", nullptr);
}

Verb& Verb::add_verb(std::string word, std::string text, std::string lines) {
  return verbs.emplace_back(*this, std::move(word), std::move(text), std::move(lines));
}

Option& Verb::row(const std::string& names, std::string help, CLI::Option* parsed) {
  Option& out = options.emplace_back();
  const std::size_t comma = names.find(',');
  if (comma != std::string::npos) out.short_name = names.substr(0, comma);
  out.name = names.substr(comma == std::string::npos ? 0 : comma + 1);
  out.help = std::move(help);
  out.parsed = parsed;
  return out;
}

template <class T>
Option& Verb::add(const std::string& names, T& target, const ValueKind& kind, std::string help) {
  CLI::Option* parsed = parser->add_option(names, target);
  parsed->type_name(std::string(kind.name));
  Option& out = row(names, std::move(help), parsed);
  out.kind = &kind;
  out.many = parsed->get_items_expected_max() > 1;
  return out;
}

template Option& Verb::add(const std::string&, std::string&, const ValueKind&, std::string);
template Option& Verb::add(const std::string&, std::vector<std::string>&, const ValueKind&,
                           std::string);
template Option& Verb::add(const std::string&, std::vector<double>&, const ValueKind&, std::string);
template Option& Verb::add(const std::string&, int&, const ValueKind&, std::string);
template Option& Verb::add(const std::string&, std::uint32_t&, const ValueKind&, std::string);
template Option& Verb::add(const std::string&, std::int64_t&, const ValueKind&, std::string);
template Option& Verb::add(const std::string&, std::uint64_t&, const ValueKind&, std::string);
template Option& Verb::add(const std::string&, double&, const ValueKind&, std::string);
template Option& Verb::add(const std::string&, std::optional<double>&, const ValueKind&,
                           std::string);

Option& Verb::add_flag(const std::string& names, bool& target, std::string help) {
  return row(names, std::move(help), parser->add_flag(names, target));
}

Option& Verb::option(std::string_view wanted) {
  return *std::ranges::find(options, wanted, &Option::name);
}

bool Verb::given(std::string_view wanted) const {
  return std::ranges::find(options, wanted, &Option::name)->given();
}

std::string Verb::path() const {
  if (parent == nullptr) return "";
  const std::string before = parent->path();
  return before.empty() ? name : before + " " + name;
}

Reading Verb::read(int argc, const char* const* argv) {
  try {
    parser->parse(argc, argv);
    return {};
  } catch (const CLI::CallForHelp&) {
    return {true, {}};
  } catch (const CLI::ParseError& error) {
    // CLI11 misses a verb without naming the word that stands in its place.
    const Verb& at = reached();
    const std::vector<std::string> rest = at.parser->remaining(true);
    const bool verb = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr && !rest.empty() &&
                      !at.verbs.empty();
    return {false, Misread{error.what(), verb ? rest.front() : ""}};
  }
}

const Verb& Verb::reached() const {
  for (const Verb& verb : verbs) {
    if (verb.parser->count() > 0) return verb.reached();
  }
  return *this;
}

}  // namespace spillway
