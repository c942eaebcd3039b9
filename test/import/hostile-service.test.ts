/** `grove import --to` a service that is no friend, and a folder whose names are none: what they say commands no terminal. */

import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect } from 'chai'
import { runCommand } from '../support/command.ts'
import { environment, type Finished, folderOf, importAs, useService } from './command.ts'

/** Sets the title of a terminal, and clears it. */
const commands = '\x1b]0;hello\x07\x1b[2J\x9b2J'
const shown = '\\u001b]0;hello\\u0007\\u001b[2J\\u009b2J'
const org = '3f2504e0-4f89-41d3-9a0c-0305e82c3301'
const node = '3f2504e0-4f89-41d3-9a0c-0305e82c3302'

/** What it answers, by the end of the path; nothing: an empty object. */
type Answers = Readonly<Record<string, string | object>>

describe('import from and to what is hostile', () => {
  useService()
  let server: Server | undefined
  afterEach(() => server?.close())

  async function importTo(answers: Answers): Promise<Finished> {
    const listening = createServer((req, res) => {
      const path = `${req.method} ${req.url?.replace(/\?.*/, '')}`
      const [, answer = {}] = Object.entries(answers).find(([end]) => path.endsWith(end)) ?? []
      const status = typeof answer === 'object' && 'status' in answer ? Number(answer.status) : 200
      req.resume().once('end', () => {
        res.writeHead(status, { 'content-type': 'application/json', connection: 'close' })
        res.end(typeof answer === 'string' ? answer : JSON.stringify(answer))
      })
    })
    server = listening
    await new Promise<void>((done) => listening.listen(0, '127.0.0.1', done))
    const { port } = listening.address() as AddressInfo // it listens on a port
    const folder = await folderOf('Notes', { 'a.md': '# A\n', token: 'grv_x\n' })
    const to = ['--to', `http://127.0.0.1:${port}`, '--token-file', join(folder, 'token'), '--org', org]
    return runCommand(['import', folder, ...to], { ...environment(), DATA_DIR: '/nonexistent' })
  }

  const anOrg = { id: org, name: `Evil ${commands}`, role: 'owner' }
  const listed = {
    total: 1,
    nodes: [{ id: node, title: commands, properties: { source_path: `gone ${commands}.md` } }],
  }

  it('shows what a service answers, and does not obey it', async () => {
    const { code, stdout } = await importTo({
      [`GET /orgs/${org}`]: anOrg,
      [`GET /orgs/${org}/nodes`]: listed,
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

  it('ends with a sentence where an answer is nested deeper than a Grove answers', async () => {
    const { code, stderr } = await importTo({
      [`GET /orgs/${org}`]: { ...anOrg, name: 'Deep' },
      [`GET /orgs/${org}/nodes`]: `{"total":1,"nodes":[{"id":"${node}","title":"x","properties":{"a":${deep}}}]}`,
    })
    expect(code).to.equal(1)
    expect(stderr).to.match(/ does not answer as a Grove does: GET \S+\n$/)
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
