#!/usr/bin/env node
/** `jq` as WebAssembly for the tour's test: jq [FLAG…] FILTER [FILE]. A machine without jq can then run the tour. */
import { readFileSync } from 'node:fs'
import jq from 'jq-wasm'

const flags = process.argv.slice(2).filter((argument) => argument.startsWith('-'))
const [filter = '.', file] = process.argv.slice(2).filter((argument) => !argument.startsWith('-'))
process.stdout.write(`${await jq.raw(readFileSync(file ?? 0, 'utf8'), filter, flags)}\n`)
