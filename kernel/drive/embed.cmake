# Turns a file into a C array: cmake -D IN=file -D OUT=file.c -D NAME=name -D HEADER=declaration.h -P embed.cmake
file(READ "${IN}" bytes HEX)
string(REGEX REPLACE "(................................)" "\\1\n    " bytes "${bytes}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1, " bytes "${bytes}")
string(REGEX REPLACE " +\n" "\n" bytes "${bytes}")
file(WRITE "${OUT}" "#include \"${HEADER}\"\n\nconst unsigned char ${NAME}[] = {\n    ${bytes}\n};\nconst size_t ${NAME}_size = sizeof ${NAME};\n")
