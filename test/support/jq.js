#!/usr/bin/env node
/** `jq` for the tour's test, so that a machine without it runs the tour too: jq [FLAG…] FILTER [FILE], as WebAssembly. */
import { readFileSync } from 'node:fs'
import jq from 'jq-wasm'

const flags = process.argv.slice(2).filter((argument) => argument.startsWith('-'))
const [filter = '.', file] = process.argv.slice(2).filter((argument) => !argument.startsWith('-'))
process.stdout.write(`${await jq.raw(readFileSync(file ?? 0, 'utf8'), filter, flags)}\n`)
