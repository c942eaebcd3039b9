/** Writes openapi.json, types.ts and rights.ts from openapi.yaml; with --check it only compares, and exits 1 where they differ. */
import { readFile, writeFile } from 'node:fs/promises'
import openapiTS, { astToString, COMMENT_HEADER } from 'openapi-typescript'
import { parse } from 'yaml'
import { rightsOf } from './rights-of.ts'

const here = (file: string) => new URL(file, import.meta.url)
const absentIfMissing = (error: NodeJS.ErrnoException) => {
  if (error.code === 'ENOENT') return undefined
  throw error
}

const document = parse(await readFile(here('openapi.yaml'), 'utf8'))
const json = `${JSON.stringify(document, null, 2)}\n`
const types = `${COMMENT_HEADER}${astToString(await openapiTS(json, { defaultNonNullable: true }))}`
const generated = { 'openapi.json': json, 'types.ts': types, 'rights.ts': rightsOf(document) }

for (const [file, text] of Object.entries(generated)) {
  if (!process.argv.includes('--check')) {
    await writeFile(here(file), text)
  } else if ((await readFile(here(file), 'utf8').catch(absentIfMissing)) !== text) {
    console.error(`spec/${file} does not follow from spec/openapi.yaml: run npm run generate`)
    process.exitCode = 1
  }
}
