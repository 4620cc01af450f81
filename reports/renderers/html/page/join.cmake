# Writes OUTPUT, one script, of the FILES, whose names are its own.
#   cmake -DFILES=a;b -DOUTPUT=... -P join.cmake
set(script "(() => {\n'use strict';\n")
foreach(path IN LISTS FILES)
  file(READ ${path} text)
  string(APPEND script "\n${text}")
endforeach()
file(WRITE ${OUTPUT} "${script}})();\n")
