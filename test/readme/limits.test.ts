/** The tables of spec/limits.md state what they cannot take from the code, and the service keeps their limits. */

import { readFile } from 'node:fs/promises'
import { expect } from 'chai'
import type { Limit } from '../../server/base/counters.ts'
import * as limits from '../../server/base/limits.ts'
import { limitedSignIns } from '../../server/domain/accounts/sign-ins.ts'
import { limitedMail } from '../../server/domain/mail/limits.ts'
import document from '../../spec/openapi.json' with { type: 'json' }
import { client } from '../support/people.ts'
import { useWorld } from '../support/world.ts'

const { schemas, parameters } = document.components

/** Rows with a default or a minimum. The API description has them, as it has no limit of the code. */
const ranges: Readonly<Record<string, Range>> = {
  '`limit` of a list': parameters.limit.schema,
  '`top_k`': schemas.SearchRequest.properties.top_k,
  '`limit` of suggestions': parameters.suggest_limit.schema,
  '`limit` of backlinks': parameters.backlink_limit.schema,
  'values of a facet': schemas.AskedFacet.properties.limit,
}

/** Rows of concurrent work, and the file that has its semaphore. */
const semaphores: Readonly<Record<string, readonly [file: string, name: string]>> = {
  'sending files as `raw`': ['server/domain/branches/raw-files.ts', 'semaphore'],
  exports: ['server/features/vault/write/requests.ts', 'semaphore'],
  'tables as CSV': ['server/domain/search/node-tables.ts', 'semaphore'],
  'link lists': ['server/domain/nodes/links.ts', 'semaphore'],
  'batches and copies': ['server/domain/nodes/batch-input.ts', 'semaphore'],
  'lists of pull requests below a node': ['server/domain/pulls/org-pulls.ts', 'semaphore'],
  "updates of a pull request's branch, and undoing one": ['server/domain/pulls/branch-updates.ts', 'semaphore'],
  'diffs, blame and filtered histories': ['server/domain/branches/large-reads.ts', 'gitSemaphore'],
  'trees of about 20,000 entries or more': ['server/domain/branches/large-reads.ts', 'treeSemaphore'],
  pages: ['server/http/page-turns.ts', 'pageReads'],
  'renderings of texts for pages': ['server/http/page-turns.ts', 'renderings'],
  'searches and suggestions': ['server/domain/search/queue.ts', 'semaphore'],
  'searches of a branch or past state': ['server/domain/search/in-view.ts', 'semaphore'],
  'graphs and maps': ['server/features/graph/graph.ts', 'semaphore'],
}

describe('spec/limits.md', () => {
  let stated: ReadonlyMap<string, readonly string[]>
  let tables: readonly (readonly string[])[]
  const { grove, ann } = useWorld({ ann: 'owner' }, { rateLimit: true })

  before(async () => {
    tables = tableRows(await readFile('spec/limits.md', 'utf8'))
    stated = new Map(tables.map(([name = '', ...cells]) => [name, cells]))
  })

  const limitOf = (row: string) => stated.get(row)?.[0] ?? `${row} is not in the tables`

  it('has four tables of limits, each row with a limit of its own', async () => {
    const headings = (await readFile('spec/limits.md', 'utf8')).match(/^## .*$/gm)
    expect(headings).to.deep.equal([
      '## What you can store',
      '## What a request may contain',
      '## What an answer contains',
      '## Concurrency and rate limits',
    ])
    const names = tables.filter(([name = '']) => !name.startsWith('failed sign-in')).map(([name]) => name)
    expect(names.filter((name, at) => names.indexOf(name) !== at)).to.deep.equal([])
  })

  it('states minimums and defaults of the API description', () => {
    for (const [row, { minimum, maximum, default: usual }] of Object.entries(ranges))
      expect(limitOf(row), row).to.equal(`${minimum}–${maximum}, ${usual} by default`)
    expect(limitOf('a password')).to.match(new RegExp(`^${schemas.Password.minLength}–`))
  })

  it('states how much work of each kind runs and waits', async () => {
    for (const [row, [file, name]] of Object.entries(semaphores))
      expect(stated.get(row), `${row}: ${file}`).to.deep.equal(await sharesOf(file, name))
  })

  it.deep('has the limits at which the service refuses a body, a batch and a token', async () => {
    const status = async (body: string) => (await ann.post(`/orgs/${ann.org}/nodes`, body)).status
    expect(await status(`{"title": "${'x'.repeat(limits.bodyBytes)}"}`)).to.equal(413)
    const problemOf = async (path: string, body: unknown) => (await ann.post(path, body)).body.detail?.[0]
    const nested = (levels: number) => `{"properties": ${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`
    expect(await problemOf(`/orgs/${ann.org}/nodes`, nested(limits.jsonLevels))).to.not.include({
      type: 'json_invalid',
    })
    expect(await problemOf(`/orgs/${ann.org}/nodes`, nested(limits.jsonLevels + 1))).to.include({
      type: 'json_invalid',
    })
    const many = `{"properties": [${'{},'.repeat(limits.jsonContainers)}{}]}`
    expect(await problemOf(`/orgs/${ann.org}/nodes`, many)).to.include({ type: 'json_invalid' })
    const files = Array.from({ length: limits.batchFiles }, (_, at) => ({ path: `${at}`, content: '' }))
    const nodes = Array.from({ length: Math.ceil(limits.batchEntries / limits.batchFiles) + 1 }, () => ({
      title: 'x',
      files,
    }))
    expect(await problemOf(`/orgs/${ann.org}/nodes/batch`, { nodes })).to.deep.include({
      type: 'too_long',
      ctx: { max_length: limits.batchEntries },
    })
    for (let made = 0; made <= limits.tokens; made++) {
      const { status, body } = await ann.post('/auth/tokens', { name: 'x', access: 'read' })
      expect([status, body.code]).to.deep.equal(made < limits.tokens ? [201, undefined] : [409, 'too_many_tokens'])
    }
  })

  it('states the rate limits that the service counts by and announces', async () => {
    const counted: Limit[] = []
    limitedSignIns((_, limit) => {
      counted.push(limit)
      return { take: neverCounted, giveBack: neverCounted, close: neverCounted }
    })
    const rates = (row: string) => tables.filter(([name]) => name === row).map(([, rate, by]) => `${rate} by ${by}`)
    const from = (place: string) => `failed sign-in from an address that ${place}`
    const [address, known, strange, inADay] = counted.map(({ quota, windowSeconds }) => perTime(quota, windowSeconds))
    expect(rates(from('is new to the account'))).to.deep.equal([
      `${strange} by account`,
      `${inADay} by account`,
      `${address} by address`,
    ])
    expect(rates(from('the account knows'))).to.deep.equal([`${known} by account and address`])
    const announced = async (path: string, body?: object) => {
      const { headers } = await (body ? client(grove).post(path, body) : client(grove).get(path))
      const [, name, quota, seconds] = /^"(\w+)";q=(\d+);w=(\d+)$/.exec(headers['ratelimit-policy'] ?? '') ?? []
      return `${name}: ${perTime(Number(quota), Number(seconds))}`
    }
    const somebody = { email: 'somebody@example.org', password: 'not a password' }
    const anonymous = `default: ${rates('everything else without a valid token')[0]}`
    expect(`signup: ${rates('sign-up')[0]}`).to.equal(`${await announced('/auth/signup', somebody)} by address`)
    const forgotten = await announced('/auth/password/forgot', { email: 'somebody@example.org' })
    expect(`reset: ${rates('asking for a new password by mail')[0]}`).to.equal(`${forgotten} by address`)
    const mailed: Limit[] = []
    limitedMail((_, limit) => {
      mailed.push(limit)
      return { take: neverCounted, giveBack: neverCounted, close: neverCounted }
    })
    const [hour, day, confirmHour, confirmDay, invitations, all] = mailed.map(({ quota, windowSeconds }) =>
      perTime(quota, windowSeconds),
    )
    expect(rates('mails with a link for a new password')).to.deep.equal([`${hour}, ${day} by mailbox`])
    expect(rates('mails to confirm an address')).to.deep.equal([`${confirmHour}, ${confirmDay} by mailbox`])
    expect(rates('mails with an invitation')).to.deep.equal([`${invitations} by user`])
    expect(rates('mails of all kinds')).to.deep.equal([`${all} by service`])
    expect(anonymous).to.equal(`${await announced('/auth/login', somebody)} by address`)
    expect(anonymous).to.equal(`${await announced('/public/orgs/nobody/graph')} by address`)
    const { headers } = await ann.get('/auth/me')
    const quota = Number(/;q=(\d+);w=60$/.exec(headers['ratelimit-policy'] ?? '')?.[1])
    expect(rates('everything else with a valid token')).to.deep.equal([`${perTime(quota, 60)} by user`])
  })
})

function neverCounted(): never {
  throw new Error('nothing is counted here')
}

/** The rows of all tables, without their heads. */
function tableRows(markdown: string): string[][] {
  const all = markdown.match(/^\|.*\|$/gm) ?? []
  return all
    .filter((line, at) => !line.startsWith('|---') && !all[at + 1]?.startsWith('|---'))
    .map((line) =>
      line
        .slice(1, -1)
        .split('|')
        .map((cell) => cell.trim()),
    )
}

/** The value of `name = …` or of a property `name: …`, an expression of numbers. */
async function constantOf(file: string, name: string): Promise<number> {
  const source = await readFile(file, 'utf8')
  const [, text = ''] = new RegExp(`\\b${name}(?: =|:) ([\\d_]+(?: \\*\\*? [\\d_]+)*)`).exec(source) ?? []
  if (text === '') throw new Error(`${file} has no number ${name}`)
  const products = text.replaceAll('_', '').split(/ \* /)
  return products.reduce((product, factor) => product * power(factor), 1)
}

function power(text: string): number {
  const [base = 0, exponent = 1] = text.split(' ** ').map(Number)
  return base ** exponent
}

/** The cells of a row of concurrent work, from the limits that the file gives to createCallerSemaphore. */
async function sharesOf(file: string, name: string): Promise<string[]> {
  const source = await readFile(file, 'utf8')
  const [, limits = ''] = new RegExp(`\\b${name} = createCallerSemaphore\\(\\{([\\s\\S]*?)\\n\\}\\)`).exec(source) ?? []
  const amounts = (who: string) =>
    new RegExp(`\\b${who}: \\{ running: (\\d+), waiting: (\\d+) \\}`).exec(limits)?.slice(1)
  const all = amounts('all') ?? []
  const person = amounts('person') ?? []
  const anonymous = amounts('anonymous')
  // Work without a share for anonymous callers is only for users.
  const address = anonymous && (amounts('address') ?? person)
  const wait = /waitTimeoutMs: ([\d_]+)/.exec(limits)?.[1] ?? `${await constantOf(file, 'waitTimeoutMs')}`
  const column = (at: 0 | 1) => [all[at], person[at], address?.[at], anonymous?.[at]].map((amount = '') => amount)
  return [...column(0), ...column(1), inSeconds(Number(wait.replaceAll('_', '')))]
}

interface Range {
  readonly minimum: number
  readonly maximum: number
  readonly default: number
}

function perTime(quota: number, seconds: number): string {
  const units: Readonly<Record<number, string>> = { 60: 'minute', 3600: 'hour', 86400: 'day' }
  return `${grouped(quota)} per ${units[seconds]}`
}

function inSeconds(milliseconds: number): string {
  return `${milliseconds / 1_000} s`
}

function grouped(number: number): string {
  return number.toLocaleString('en')
}
