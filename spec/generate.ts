/**
 * Writes openapi.json, types.ts, rights.ts and client/ from openapi.yaml, limits.md from its template, and documents.json
 * from the documents. Limits, and lists of event types, audit actions, error codes and caches, come from their catalogs.
 *
 * With --check it only compares, and exits with 1 if they differ.
 */
import { readFile, writeFile } from 'node:fs/promises'
import openapiTS, { astToString, COMMENT_HEADER } from 'openapi-typescript'
import { isInterfaceDeclaration, type Node } from 'typescript'
import { parse } from 'yaml'
import { statusOf } from '../server/base/errors.ts'
import { eventTypes } from '../server/base/event-types.ts'
import { documentsOf, readDocuments } from './documents-of.ts'
import { withErrors } from './errors-of.ts'
import { limitsOf, withLimits } from './limits-of.ts'
import { operationsOf } from './operations-of.ts'
import { revisionOf } from './revision-of.ts'
import { rightsOf } from './rights-of.ts'
import { withTables } from './tables-of.ts'

const here = (file: string) => new URL(file, import.meta.url)
const absentIfMissing = (error: NodeJS.ErrnoException) => {
  if (error.code === 'ENOENT') return undefined
  throw error
}

const source = withErrors(withLimits(parse(await readFile(here('openapi.yaml'), 'utf8'))))
source.components.schemas.KnownEventType.enum = eventTypes
source.components.schemas.KnownErrorCode.enum = Object.keys(statusOf)
const { title, version, ...info } = source.info
const document = { ...source, info: { title, version, 'x-revision': revisionOf(source), ...info } }
const limits = limitsOf(await readFile(here('limits.template.md'), 'utf8'))
const documents = { ...(await readDocuments(here)), 'limits.md': limits }
const json = `${JSON.stringify(document, null, 2)}\n`
const metrics = '../server/deploy/metrics.md'
const generated = {
  ...documents,
  [metrics]: withTables(await readFile(here(metrics), 'utf8')),
  'openapi.json': json,
  'types.ts': typesOf(await openapiTS(withoutRefusals(json), { defaultNonNullable: true })),
  'rights.ts': rightsOf(document),
  'documents.json': documentsOf(documents),
  'client/operations.ts': operationsOf(document),
  // What has a default is optional here, because who sends may leave it out.
  'client/types.ts': typesOf(await openapiTS(withoutRefusals(json), { defaultNonNullable: false, immutable: true })),
}

for (const [file, text] of Object.entries(generated)) {
  if (!process.argv.includes('--check')) {
    await writeFile(here(file), text)
  } else if ((await readFile(here(file), 'utf8').catch(absentIfMissing)) !== text) {
    console.error(`spec/${file} is not up to date: run npm run generate`)
    process.exitCode = 1
  }
}

/** Leaves out the operations by path, which say the same as those by name. */
function typesOf(nodes: readonly Node[]): string {
  const kept = nodes.filter((node) => !(isInterfaceDeclaration(node) && node.name.text === 'paths'))
  return `${COMMENT_HEADER}${astToString(kept)}`
}

/** No type reads errors, which are classes in the client, and examples. A file of types is a third shorter without them. */
function withoutRefusals(source: string): string {
  return JSON.stringify(JSON.parse(source), function (key, value) {
    if (key === 'responses' && this.operationId !== undefined)
      return Object.fromEntries(Object.entries(value).filter(([status]) => status.startsWith('2')))
    // A schema of a list with this name is that of a property.
    const isExample = (key === 'examples' || key === 'example') && value?.items === undefined
    return isExample ? undefined : value
  })
}
