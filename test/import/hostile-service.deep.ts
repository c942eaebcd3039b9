/** `grove import --to` a service that is no friend, and a folder whose names are none: what they say commands no terminal. */

import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect } from 'chai'
import { runCommand } from '../support/command.ts'
import { environment, type Finished, folderOf, importAs, start, useService } from './command.ts'

/** Sets the title of a terminal, clears it, and turns the direction of its text. */
const commands = '\x1b]0;hello\x07\x1b[2J\x9b2J\u202e\u2066'
const shown = '\\u001b]0;hello\\u0007\\u001b[2J\\u009b2J\\u202e\\u2066'
const org = '3f2504e0-4f89-41d3-9a0c-0305e82c3301'
const node = '3f2504e0-4f89-41d3-9a0c-0305e82c3302'

/** The answers, by the end of the path. Other paths get an empty object. */
type Answers = Readonly<Record<string, string | object | ((query: URLSearchParams) => string)>>

describe('import from and to what is hostile', () => {
  useService()
  const servers: Server[] = []
  afterEach(() => {
    for (const server of servers.splice(0)) server.close()
  })

  async function importTo(answers: Answers): Promise<Finished> {
    return runCommand(await argumentsFor(answers), { ...environment(), DATA_DIR: '/nonexistent' })
  }

  /** In a process of its own, whose heap is small. */
  async function importInto(mebibytes: number, answers: Answers): Promise<Finished> {
    const args = await argumentsFor(answers)
    return start(args, { DATA_DIR: '/nonexistent', NODE_OPTIONS: `--max-old-space-size=${mebibytes}` }).done
  }

  async function argumentsFor(answers: Answers): Promise<string[]> {
    const listening = createServer((req, res) => {
      const path = `${req.method} ${req.url?.replace(/\?.*/, '')}`
      const [, found = {}] = Object.entries(answers).find(([end]) => path.endsWith(end)) ?? []
      const answer = typeof found === 'function' ? found(new URL(req.url ?? '', 'http://x').searchParams) : found
      const status = typeof answer === 'object' && 'status' in answer ? Number(answer.status) : 200
      req.resume().once('end', () => {
        res.writeHead(status, { 'content-type': 'application/json', connection: 'close' })
        res.end(typeof answer === 'string' ? answer : JSON.stringify(answer))
      })
    })
    servers.push(listening)
    await new Promise<void>((done) => listening.listen(0, '127.0.0.1', done))
    const { port } = listening.address() as AddressInfo // it listens on a port
    const folder = await folderOf('Notes', { 'a.md': '# A\n', token: 'grv_x\n' })
    const to = ['--to', `http://127.0.0.1:${port}`, '--token-file', join(folder, 'token'), '--org', org]
    return ['import', folder, ...to]
  }

  const anOrg = { id: org, name: `Evil ${commands}`, role: 'owner' }
  const noTypes = { total: 0, types: [] }
  const listed = {
    total: 1,
    nodes: [{ id: node, title: commands, properties: { source_path: `gone ${commands}.md` } }],
  }

  it('shows what a service answers, and does not obey it', async () => {
    const { code, stdout } = await importTo({
      [`GET /orgs/${org}`]: anOrg,
      [`GET /orgs/${org}/nodes`]: listed,
      [`GET /orgs/${org}/types`]: noTypes,
      [`PUT /orgs/${org}/nodes/batch`]: { status: 422, detail: [{ loc: ['body', 'nodes', 0], msg: commands }] },
    })
    expect(code).to.equal(1)
    expect(stdout)
      .to.match(/^Evil \\u001b/)
      .and.contain(`: ${shown}\n`)
    expect(stdout).to.not.match(/[^\P{Cc}\n]/u)
  })

  it('shows why a service refuses, and does not obey it', async () => {
    const { code, stderr } = await importTo({ [`GET /orgs/${org}`]: { status: 403, detail: commands } })
    expect(code).to.equal(2)
    expect(stderr)
      .to.contain(`refuses the token: ${shown}\n`)
      .and.not.match(/[^\P{Cc}\n]/u)
  })

  it('shows a refusal on one line, with any line ends in it', async () => {
    const detail = 'No.\ngrove: all is well\u2028really\r\n'
    for (const status of [403, 404, 500]) {
      const { stdout, stderr } = await importTo({ [`GET /orgs/${org}`]: { status, detail } })
      expect(stdout + stderr)
        .to.contain('No.\\u000agrove: all is well\\u2028really\\u000d\\u000a')
        .and.match(/^[^\n]*\n$/)
    }
  })

  it('ends with a sentence if an answer is nested deeper than a Grove answers', async () => {
    const { code, stderr } = await importTo({
      [`GET /orgs/${org}`]: { ...anOrg, name: 'Deep' },
      [`GET /orgs/${org}/nodes`]: `{"total":1,"nodes":[{"id":"${node}","title":"x","properties":{"a":${deep}}}]}`,
    })
    expect(code).to.equal(1)
    expect(stderr).to.match(/ does not respond like a Grove service: GET \S+\n$/)
  })

  for (const [what, answer, sentence] of [
    [
      'objects without end',
      () => `[${'{},'.repeat(15_000_000)}{}]`,
      / The answer of \S+ has more than 1000000 values\n$/,
    ],
    ['brackets without end', () => '['.repeat(20_000_000), / does not respond like a Grove service: GET \S+\n$/],
    [
      'a page of objects',
      () => `{"total":1,"nodes":[${'{},'.repeat(9_000_000)}{}]}`,
      / The answer of \S+ is larger than 4 MiB\n$/,
    ],
  ] as const)
    it(`ends with a sentence, in a small heap, if a service answers ${what}`, async () => {
      const end = what === 'a page of objects' ? `GET /orgs/${org}/nodes` : `GET /orgs/${org}`
      const { code, stderr } = await importInto(192, { [`GET /orgs/${org}`]: anOrg, [end]: answer })
      expect(stderr).to.match(sentence)
      expect(code).to.equal(1)
    })

  it('keeps of a long list what an import needs, in a small heap', async () => {
    const padding = 'x'.repeat(15_000)
    const page = (offset: number) =>
      Array.from({ length: 200 }, (_, at) => ({
        id: `3f2504e0-4f89-41d3-9a0c-${String(offset + at).padStart(12, '0')}`,
        ...{ title: 'Long', properties: { source_path: `${offset + at}.md`, padding: `${offset + at}${padding}` } },
      }))
    const { code, stderr } = await importInto(128, {
      [`GET /orgs/${org}`]: anOrg,
      [`GET /orgs/${org}/nodes`]: (query) =>
        JSON.stringify({ total: 16_000, nodes: page(Number(query.get('offset'))) }),
      [`GET /orgs/${org}/types`]: noTypes,
      '/nodes/batch': { nodes: [] },
    })
    expect(stderr).to.not.contain('FATAL')
    expect(code).to.equal(0)
  })

  it('shows the names of files, and does not obey them', async () => {
    const { code, stdout } = await importAs(await folderOf('Names', { [`${commands}.md`]: '[[nowhere]]\n' }))
    expect(code).to.equal(0)
    expect(stdout)
      .to.contain(`${shown}.md: [[nowhere]]\n`)
      .and.not.match(/[^\P{Cc}\n]/u)
  })
})

const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
