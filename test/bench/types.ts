/** Measures the checker of schemas next to ajv, which compiles them, and the worst patterns found. */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { openSnapshots } from '../../index/search/segments/read-snapshots.ts'
import { openTypeJudging } from '../../server/domain/search/type-judging.ts'
import { parseDefinition, type TypeDefinition } from '../../server/domain/types/definition.ts'
import { linesOf } from '../../server/domain/types/lines.ts'
import { OrgTypes } from '../../server/domain/types/org-types.ts'
import { compilePattern } from '../../server/domain/types/patterns.ts'
import { judgeChange, judgeNode, type TypedContent } from '../../server/domain/types/rules.ts'
import { interleave, timeOf } from './measure.ts'
import { fillProperties, idOf } from './queries.ts'
import type { Report } from './report.ts'
import { createIndexFile, openChanges } from './search-data.ts'

const times = 30
/** Nodes that are checked at once, because one takes microseconds. */
const count = 1_000

/** Five kinds of fields, each with a value. */
const kinds = [
  [{ type: 'integer', minimum: 0, maximum: 100, title: 'A number' }, 4],
  [{ type: 'string', minLength: 1, maxLength: 200, description: 'A text' }, 'A text of some words'],
  [{ type: 'string', format: 'date' }, '2026-12-01'],
  [{ enum: ['open', 'done', 'dropped', null] }, 'done'],
  [
    { type: 'array', items: { type: 'string', maxLength: 20 }, uniqueItems: true, maxItems: 10 },
    ['one', 'two', 'three'],
  ],
] as const
const fields = Array.from({ length: 20 }, (_, n) => [`field_${n}`, kinds[n % kinds.length] ?? kinds[0]] as const)
const schemaOf = (mark: number) => ({
  type: 'object',
  required: ['field_0', 'field_1'],
  properties: Object.fromEntries(fields.map(([name, [schema]]) => [name, { ...schema, 'x-mark': mark }])),
})
const properties = { type: 'a', ...Object.fromEntries(fields.map(([name, [, value]]) => [name, value])) }
const node: TypedContent = { properties, parents: [], connections: [] }

export async function benchTypes(report: Report): Promise<void> {
  await benchChecks(report)
  await benchHostile(report)
  await benchJudging(report)
}

/** Nodes that the search thread judges. */
const judgedCount = 100_000
const orgId = 'org'

/** Measures the search thread's part of a check and of the list of problems. A tenth of the nodes breaks a rule. */
async function benchJudging(report: Report): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'grove-bench-types-'))
  try {
    const file = join(folder, 'index.sqlite')
    await createIndexFile(file)
    fillProperties(file, orgId, judgedCount, { type: 'a' })
    const judging = openTypeJudging(openSnapshots(file))
    const judged = (least: number) => {
      const types = typesWith({ required: ['status', 'name'], properties: judgedFields(least) })
      return { name: 'a', types: types.types.map((type) => ({ ...type, version: String(least) })) }
    }
    const page = { offset: 0, limit: 50 }
    const list = () => judging.listBroken(orgId, judged(2), page)
    report.say(
      `Check of ${judgedCount} nodes: ${Math.round(await timeOf(() => judging.compare(orgId, judged(0), judged(2))))} ms`,
    )
    report.say(`Problems of ${judgedCount} nodes, first page: ${Math.round(await timeOf(list))} ms`)
    const changes = openChanges(file, orgId)
    let n = 0
    const change = () => changes.set(idOf(n++), 'Another text')
    const rows = await interleave(times, [
      ['the page again', list],
      ['a change of one node', async () => change()],
      ['the page after a change', async () => [change(), await list()]],
    ])
    report.rows(`Problems of ${judgedCount} nodes`, 'ms', rows)
    changes.close()
  } finally {
    await rm(folder, { recursive: true })
  }
}

function judgedFields(least: number) {
  const others = Array.from({ length: 15 }, (_, n) => [`field_${n}`, { type: 'string', maxLength: 50 }])
  return {
    status: { enum: ['draft', 'in work', 'review', 'done', 'dropped'] },
    author: { type: 'string', maxLength: 100 },
    serves: { type: 'integer', minimum: least },
    name: { type: 'string', minLength: 1 },
    due: { type: 'string', format: 'date' },
    ...Object.fromEntries(others),
  }
}

function definitionOf(schema: object): TypeDefinition {
  const read = parseDefinition(JSON.stringify({ title: 'A', enforcement: 'strict', schema }))
  if ('faults' in read) throw new Error(read.faults.map(({ msg }) => msg).join('\n'))
  return read.definition
}

function typesWith(schema: object): OrgTypes {
  return new OrgTypes([{ name: 'a', version: '1', definition: definitionOf(schema) }], false)
}

function compileAjv(schema: object) {
  const ajv = new Ajv2020({ allErrors: true, strict: false })
  addFormats.default(ajv, ['date', 'date-time', 'uri', 'email'])
  return ajv.compile(schema)
}

const none = () => undefined

async function benchChecks(report: Report): Promise<void> {
  const types = typesWith(schemaOf(0))
  const validate = compileAjv(schemaOf(0))
  if (!validate(properties) || judgeNode(types, node, none).violations.length > 0)
    throw new Error('The node is invalid')
  let mark = 0
  const repeat = (work: () => unknown) => async () => {
    for (let n = 0; n < count; n++) work()
  }
  const rows = await interleave(times, [
    ['read a definition of 20 fields', async () => definitionOf(schemaOf(++mark))],
    ['the same, compiled by ajv', async () => compileAjv(schemaOf(++mark))],
    [`check ${count} nodes of 20 fields`, repeat(() => judgeNode(types, node, none))],
    ['the same with ajv', repeat(() => validate(properties))],
    [`judge ${count} changes that change nothing`, repeat(() => judgeChange(types, node, node, none))],
  ])
  report.rows('Types of 20 fields', 'ms', rows)
  const [read, compiled, check, checkAjv] = rows.map(({ p50 }) => p50)
  report.ratio({
    what: 'read a definition',
    unit: 'ms',
    grove: read,
    peer: 'ajv',
    of: compiled,
    wanted: { atMost: 0.5 },
  })
  report.ratio({
    what: `check ${count} nodes`,
    unit: 'ms',
    grove: check,
    peer: 'ajv',
    of: checkAjv,
    wanted: { atMost: 10 },
  })
}

/** Patterns with almost the most states, each with the characters that keep most of them alive. */
const patterns = [
  ['(?:.?){120}[xy]$', 'λa'],
  ['(?:\\b|\\B|[ab]){27}[cd]$', 'ab c'],
  ['(?:\\s?){100}$', 'ab'],
  ['[ab]{0,60}[ac][ab]{110}[cd]$', 'ab'],
  ['(?:\\p{L}*\\p{N}*\\p{P}*){13}[^x]$', 'aä1λ.x'],
  [`${Array.from({ length: 18 }, (_, n) => `[^\\p{L}${n}]?`).join('')}[xy]$`, '–—…·'],
] as const

async function benchHostile(report: Report): Promise<void> {
  const list = (length: number, text: (n: number) => string) => Array.from({ length }, (_, n) => text(n))
  const hostile = patterns.map(([pattern, characters]) => {
    const all = [...characters]
    const text = (from: number) => list(999, (n) => all[((n * n + from * n) >> 2) % all.length] ?? '').join('')
    const types = typesWith({ properties: { a: { type: 'array', items: { type: 'string', pattern } } } })
    return [pattern, types, { properties: { type: 'a', a: list(60, text) }, parents: [], connections: [] }] as const
  })
  const values = list(200, (n) => `value ${n}`)
  const wide = { properties: { type: 'a', a: list(6_000, (n) => `value ${n % 300}`) }, parents: [], connections: [] }
  const ofEnum = typesWith({ properties: { a: { type: 'array', items: { enum: values } } } })
  const pretty = JSON.stringify(wide, null, 2)
  const pointers = list(100, (n) => `/properties/a/${n * 59}`)
  const rows = await interleave(10, [
    ...hostile.map(
      ([pattern, types, content]) =>
        [`60 texts against ${pattern.slice(0, 30)}`, async () => judgeNode(types, content, none)] as const,
    ),
    ['6,000 texts, each one of 200', async () => judgeNode(ofEnum, wide, none)],
    ['the lines of 100 of them', async () => linesOf(pretty, pointers)],
  ])
  report.rows('The most expensive nodes of at most 64 KiB', 'ms', rows)
  const first = await timeOf(async () => list(100, (n) => String(compilePattern(`^(?:[^\\p{L}${n}]?){48}$`).test('–'))))
  report.say(`Compile 100 patterns of 246 states, and match each once: ${Math.round(first)} ms`)
}
