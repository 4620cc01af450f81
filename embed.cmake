# Writes OUTPUT, a C++ source that holds FILES as text: CALL, which HEADER declares, returns them as
# a span of ENTRY, a name and a text each. A file's name loses STRIP at its end.
#   cmake -DFILES=a;b -DHEADER=... -DENTRY=... -DCALL=... [-DSTRIP=...] -DOUTPUT=... -P embed.cmake
set(entries "")
foreach(path IN LISTS FILES)
  get_filename_component(name ${path} NAME)
  if(STRIP)
    string(REPLACE "${STRIP}" "" name ${name})
  endif()
  file(READ ${path} text)
  string(APPEND entries "    {\"${name}\", R\"embedded(${text})embedded\"sv},\n")
endforeach()
file(WRITE ${OUTPUT}.tmp
"#include \"${HEADER}\"

namespace spillway {

namespace {
using namespace std::string_view_literals;
constexpr ${ENTRY} kFiles[] = {
${entries}};
}  // namespace

std::span<const ${ENTRY}> ${CALL}() { return kFiles; }

}  // namespace spillway
")
configure_file(${OUTPUT}.tmp ${OUTPUT} COPYONLY)
