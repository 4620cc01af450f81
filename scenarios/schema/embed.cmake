# Writes OUTPUT, a C++ source that holds every *.schema.json of DIR as text.
#   cmake -DDIR=... -DOUTPUT=... -P embed.cmake
file(GLOB schemas ${DIR}/*.schema.json)
list(SORT schemas)
set(entries "")
foreach(path IN LISTS schemas)
  get_filename_component(file ${path} NAME)
  string(REPLACE ".schema.json" "" name ${file})
  file(READ ${path} text)
  string(APPEND entries "    {\"${name}\", R\"schema(${text})schema\"},\n")
endforeach()
file(WRITE ${OUTPUT}.tmp
"#include \"scenarios/schema.hpp\"

namespace spillway {

namespace {
constexpr SchemaEntry kSchemas[] = {
${entries}};
}  // namespace

std::span<const SchemaEntry> schemas() { return kSchemas; }

}  // namespace spillway
")
configure_file(${OUTPUT}.tmp ${OUTPUT} COPYONLY)
