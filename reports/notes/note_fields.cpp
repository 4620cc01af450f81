#include "reports/notes/note_fields.hpp"

#include <algorithm>

#include "reports/document_fault.hpp"

namespace spillway {

namespace {

using nlohmann::json;

json value_json(const NoteValue& value) {
  return std::visit([](const auto& one) { return json(one); }, value);
}

NoteValue value_from(const json& from) {
  if (from.is_number_float()) return from.get<double>();
  if (from.is_number()) return whole<std::int64_t>(from);
  return from.get<std::string>();
}

}  // namespace

void to_json(json& out, const Note& note) {
  out = {{"text", note.text}};
  if (note.code.empty()) return;
  out["code"] = note.code;
  out["grade"] = name_of(note.grade);
  json figures = json::object();
  for (const NoteFigure& figure : note.figures) {
    json& value = figures[figure.name];
    value = value_json(figure.value);
    if (figure.most) value = json::array({value, value_json(*figure.most)});
  }
  if (!figures.empty()) out["figures"] = std::move(figures);
}

void from_json(const json& from, Note& note) {
  if (from.is_string()) {
    note = Note(from.get<std::string>());
    return;
  }
  note = Note(from.at("text").get<std::string>());
  note.code = from.value("code", "");
  const std::string grade = from.value("grade", std::string(name_of(note.grade)));
  const auto& grades = EnumNames<NoteGrade>::kNames;
  const auto* const found = std::find(grades.begin(), grades.end(), grade);
  if (found != grades.end()) note.grade = static_cast<NoteGrade>(found - grades.begin());
  if (!from.contains("figures")) return;
  for (const auto& item : from["figures"].items()) {
    const json& value = item.value();
    NoteFigure& figure = note.figures.emplace_back(item.key(), 0);
    figure.value = value_from(value.is_array() ? value.at(0) : value);
    if (value.is_array()) figure.most = value_from(value.at(1));
  }
}

nlohmann::ordered_json note_schema() {
  using Json = nlohmann::ordered_json;
  const Json value = {{"type", {"number", "string"}}};
  return {
      {"type", "object"},
      {"additionalProperties", false},
      {"required", {"text"}},
      {"description", "What a result says beside its figures."},
      {"properties",
       {{"code", {{"type", "string"}, {"description", "A stable name of this kind of note."}}},
        {"grade",
         {{"enum", EnumNames<NoteGrade>::kNames},
          {"description", "How grave it is. Terminals leave out details."}}},
        {"figures",
         {{"type", "object"},
          {"description", "Figures of the sentence; two of a note about several runs."},
          {"additionalProperties",
           {{"oneOf",
             Json::array(
                 {value,
                  {{"type", "array"}, {"items", value}, {"minItems", 2}, {"maxItems", 2}}})}}}}},
        {"text", {{"type", "string"}, {"description", "The sentence."}}}}}};
}

}  // namespace spillway
