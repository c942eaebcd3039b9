/** An uploaded import does what `grove import` does, and says how far it is and what it did. */

import { randomUUID } from 'node:crypto'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect } from 'chai'
import { runCommand } from '../support/command.ts'
import { startGrove } from '../support/grove.ts'
import { expecting } from '../support/node.ts'
import { client, type PersonClient, signUp } from '../support/people.ts'
import { ended, type Files, imported, makeHalfSentImport, sendZip, zipOf } from '../support/uploads.ts'
import { ann, bob, contentIn, grove, newOrg, spoolOf, useScene } from './scene.ts'

const vault: Files = {
  'index.md': '# The garden\n\nBegin with [roses](plants/rose.md).\n',
  'plants/index.md': '---\ntitle: All plants\n---\nWhat grows here.\n',
  'plants/rose.md':
    '---\ntags: [flower, red]\nheight: 120\n---\n# Rose\n\nIt has [[thorn|sharp ends]]. ![a bush](../pictures/rose.png)\n\nSee [[Nowhere]].\n',
  'plants/thorn.md': '# Thorn\n\nPart of a [rose](rose.md).\n',
  'pictures/rose.png': Buffer.from('89504e470d0a1a0a00ff', 'hex'),
  'drafts/secret.md': '# Secret\n',
  '.groveignore': 'drafts/\n',
  '.obsidian/app.json': '{}',
  'broken.canvas': '[]',
}

/** Some hundred notes that link to each other. */
function manyNotes(count: number): Files {
  const notes = Array.from({ length: count }, (_, at) => {
    const folder = `part ${at % 7}`
    return [`${folder}/note ${at}.md`, `# Note ${at}\n\nAfter [[note ${at - 1}]], before [[note ${at + 1}]].\n`]
  })
  return Object.fromEntries(notes)
}

function below(folder: string, files: Files): Files {
  return Object.fromEntries(Object.entries(files).map(([path, content]) => [`${folder}/${path}`, content]))
}

describe('uploads: an import', () => {
  useScene()

  for (const [what, files] of Object.entries({ 'a garden': vault, 'some hundred notes': manyNotes(190) }))
    it.deep(`of ${what} makes the nodes, files and edges that grove import makes of the folder`, async () => {
      const folder = await folderOf('notes', files)
      const args = ['import', folder, '--as', 'ann@example.org', '--name', `notes ${randomUUID()}`]
      const { stdout, stderr } = await runCommand(args, { ...process.env, DATA_DIR: grove.dataDir, LOG_LEVEL: 'warn' })
      const expected = /\(([0-9a-f-]{36})\)/.exec(stdout)?.[1]
      if (expected === undefined) throw new Error(stdout + stderr)
      const org = await newOrg()
      const { state, report } = await imported(ann, org, await zipOf(below('notes', files)))
      expect(state).to.equal('done')
      expect(await contentIn(ann, org)).to.deep.equal(await contentIn(ann, expected))
      const { created, links } = report?.counts ?? {}
      expect(stdout).to.contain(` ${links} connections`).and.to.contain(`${created} created, 0 updated, 0 unchanged`)
    })

  it.deep('of a contributor opens change sets, which its report names, and is for nobody else to read', async () => {
    const org = await newOrg()
    const cy = await signUp(grove, 'Cy')
    for (const who of [bob, cy])
      await ann.put(`/orgs/${org}/members/${who.user.email}`, { role: 'contributor' }).then(expecting(200))
    const zip = await zipOf(vault)
    expect((await sendZip(cy, org, zip)).status).to.equal(403)
    const { id, state, report } = await imported(cy, org, zip, '?propose=true')
    expect(state).to.equal('done')
    expect(report).to.deep.include({ change_sets: [{ number: 1, num_items: report?.counts.created }] })
    expect((await bob.get(`/orgs/${org}/imports/${id}`)).status).to.equal(403)
    const merged = await ann.post(`/orgs/${org}/change-sets/1/merge`).then(expecting(200))
    expect(merged.body.change_set).to.include({ status: 'merged', author: 'Cy' })
    expect((await imported(ann, org, zip)).report?.counts).to.include({ created: 0, updated: 0 })
    const both = await sendZip(ann, org, zip, '?propose=true&override=x')
    expect(both.status).to.equal(422)
  })

  it.deep('reports counts, pages, links to nothing and problems, and leaves no archive', async () => {
    const org = await newOrg()
    const { report, ...done } = await imported(ann, org, await zipOf(below('garden', vault)))
    expect(done).to.include({ org_id: org, name: 'garden', state: 'done', dry_run: false, created_by: ann.user.id })
    expect(done.progress).to.deep.equal({ phase: 'writing', done: 4, total: 4 })
    expect(report?.counts).to.deep.equal({
      ...{ files: 6, nodes: 4, created: 4, updated: 0, renamed: 0, unchanged: 0, kept: 0, overwritten: 0 },
      ...{ links: 3, attachments: 2, unresolved: 1, problems: 1 },
    })
    const rose = report?.created.find(({ path }) => path === 'plants/rose.md')
    expect(report?.unresolved).to.deep.equal([
      { path: 'plants/rose.md', node_id: rose?.node_id, target: '[[Nowhere]]', kind: 'missing' },
    ])
    expect(report?.problems).to.deep.equal([
      { path: 'broken.canvas', reason: 'not a valid canvas: kept only as a file' },
    ])
    expect(report?.notes).to.deep.equal(['pages do not draw this file: broken.canvas'])
    expect((await ann.get(`/orgs/${org}/nodes/${rose?.node_id}`)).body).to.include({ title: rose?.title })
    expect(await spoolOf(org, done.id)).to.deep.equal([])
  })

  it.deep('again changes only what has changed, under any name of the archive', async () => {
    const org = await newOrg()
    await imported(ann, org, await zipOf(vault), '?name=Garden')
    const same = await imported(ann, org, await zipOf(vault), '?name=Garden')
    expect(same.report?.counts).to.include({ created: 0, updated: 0, unchanged: 4 })
    const { 'plants/thorn.md': _, ...fewer } = vault
    const next = await imported(ann, org, await zipOf({ ...fewer, 'zebra.md': '# Zebra\n' }), '?name=Later')
    expect(next.report?.counts).to.include({ created: 1, kept: 1 })
    expect(next.report?.kept.map(({ path }) => path)).to.deep.equal(['plants/thorn.md'])
  })

  it.deep('of another folder into the same organisation keeps its nodes apart, each time', async () => {
    const org = await newOrg()
    await imported(ann, org, await zipOf(below('garden', vault)))
    const other = await zipOf(
      below('sea', { 'index.md': '# The sea\n', 'whale.md': '# Whale\n', 'krill.md': '# Krill\n' }),
    )
    const first = await imported(ann, org, other)
    expect(first.report?.counts).to.include({ created: 3, updated: 0, kept: 0 })
    const second = await imported(ann, org, other)
    expect(second.report?.counts).to.include({ created: 0, updated: 0, unchanged: 3 })
    expect((await ann.get(`/orgs/${org}/nodes`)).body.total).to.equal(7)
  })

  it.deep('that is a dry run reports the same, and changes nothing', async () => {
    const org = await newOrg()
    const zip = await zipOf(below('garden', vault))
    const dry = await imported(ann, org, zip, '?dry_run=true')
    expect((await ann.get(`/orgs/${org}/nodes`)).body.total).to.equal(0)
    expect((await ann.get(`/orgs/${org}`)).body).to.not.have.property('vault_id')
    const { report } = await imported(ann, org, zip)
    expect(dry.report?.counts).to.deep.equal(report?.counts)
  })

  it.deep('skips what .gitignore and the option name', async () => {
    const org = await newOrg()
    const files = { 'a.md': 'a', 'out/b.md': 'b', 'c.md': 'c', '.gitignore': 'out/\n' }
    const { report } = await imported(ann, org, await zipOf(files), `?exclude=${encodeURIComponent('c.md\n')}`)
    expect(report?.created.map(({ path }) => path)).to.deep.equal(['.', 'a.md'])
  })

  it.deep('is listed with the latest first, twenty at most', async () => {
    const org = await newOrg()
    const ids = [(await imported(ann, org, await zipOf({ 'a.md': 'a' }))).id]
    while (ids.length < 21) {
      const id = await makeHalfSentImport(grove, ann, org)
      await ann.post(`/orgs/${org}/imports/${id}/cancel`).then(expecting(200))
      ids.unshift(id)
    }
    const { body } = await ann.get(`/orgs/${org}/imports?limit=2&offset=1`)
    expect(body).to.include({ total: 20, limit: 2, offset: 1 })
    expect(body.imports.map(({ id }: { id: string }) => id)).to.deep.equal(ids.slice(1, 3))
    expect((await ann.get(`/orgs/${org}/imports/${ids.at(-1)}`)).body.code).to.equal('import_not_found')
    expect((await ann.get(`/orgs/${org}/imports/nothing`)).body.code).to.equal('import_not_found')
  })

  it.deep('runs alone in its organisation', async () => {
    const org = await newOrg()
    const id = await makeHalfSentImport(grove, ann, org)
    const { status, body } = await sendZip(ann, org, await zipOf({ 'a.md': 'a' }))
    expect({ status, body }).to.deep.equal({
      status: 409,
      body: {
        detail: 'Another import into this organisation has not ended; wait for it, or cancel it',
        code: 'import_running',
        import_id: id,
      },
    })
    const cancelled = await ann.post(`/orgs/${org}/imports/${id}/cancel`).then(expecting(200))
    expect(cancelled.body).to.include({ state: 'cancelled' })
    expect(await spoolOf(org, id)).to.deep.equal([])
    const again = await ann.post(`/orgs/${org}/imports/${id}/cancel`)
    expect({ status: again.status, code: again.body.code }).to.deep.equal({ status: 409, code: 'import_ended' })
    expect(await imported(ann, org, await zipOf({ 'a.md': 'a' }))).to.include({ state: 'done' })
  })

  it('is shown and cancelled by every process of the data folder', async () => {
    const org = await newOrg()
    const id = await makeHalfSentImport(grove, ann, org)
    const other = await startGrove({ dataDir: grove.dataDir, sweeps: false })
    const beside = client(other, ann.session.accessToken)
    const { body } = await beside.get(`/orgs/${org}/imports/${id}`)
    expect(body).to.deep.include({ state: 'queued', progress: { phase: 'receiving', done: 0, total: 0 } })
    expect((await sendZip(beside, org, await zipOf({ 'a.md': 'a' }))).body).to.include({ import_id: id })
    const cancelled = await beside.post(`/orgs/${org}/imports/${id}/cancel`).then(expecting(200))
    expect(cancelled.body).to.include({ id, state: 'cancelled' })
    await other.close()
  })

  it.deep('waits for its turn, and is cancelled there or while it runs', async () => {
    const [first, second] = [await newOrg(), await newOrg()]
    const zip = await zipOf(manyNotes(1_500))
    const running = (await sendZip(ann, first, zip).then(expecting(202))).body.id
    const waiting = (await sendZip(ann, second, zip).then(expecting(202))).body
    expect(waiting).to.deep.include({ state: 'queued', progress: { phase: 'waiting', done: 0, total: 0 } })
    const third = await sendZip(ann.hasty, await newOrg(), zip)
    expect({ status: third.status, code: third.body.code }).to.deep.equal({ status: 503, code: 'busy' })
    expect(third.body.detail).to.match(/^You have 2 imports that have not ended/)
    for (const [org, id] of [
      [second, waiting.id],
      [first, running],
    ]) {
      await ann.post(`/orgs/${org}/imports/${id}/cancel`).then(expecting(200))
      const { state, detail } = await ended(ann, org, id)
      expect({ state, detail }).to.deep.equal({
        state: 'cancelled',
        detail: 'The import was cancelled. Everything written until then stays',
      })
      expect(await spoolOf(org, id)).to.deep.equal([])
    }
    expect((await ann.get(`/orgs/${second}/nodes`)).body.total).to.equal(0)
    expect(await imported(ann, first, await zipOf({ 'a.md': 'a' }))).to.include({ state: 'done' })
  })

  it.deep('stops when its user may no longer write', async () => {
    const org = await newOrg()
    const put = (role: string) => ann.put(`/orgs/${org}/members/${bob.user.email}`, { role }).then(expecting(200))
    await put('editor')
    const zip = await zipOf(manyNotes(1_500))
    const { id } = (await sendZip(bob, org, zip).then(expecting(202))).body
    await put('reader')
    expect(await ended(ann, org, id)).to.include({
      state: 'failed',
      detail: 'Your role in the organisation no longer allows imports. Everything written until then stays',
    })
    expect((await ann.get(`/orgs/${org}/nodes`)).body.total).to.equal(0)
  })

  it.deep('stops when the token that started it is revoked', async () => {
    const org = await newOrg()
    const { id: tokenId, token } = (await newToken(ann, 'write')).body
    const { id } = (await sendZip(client(grove, token), org, await zipOf(manyNotes(1_500))).then(expecting(202))).body
    await ann.delete(`/auth/tokens/${tokenId}`).then(expecting(204))
    const { state, detail } = await ended(ann, org, id)
    expect({ state, detail }).to.deep.equal({
      state: 'failed',
      detail: 'The sign-in or the token that started the import has ended. Everything written until then stays',
    })
  })

  it.deep('needs a token that can write, and the role of an editor before a byte is read', async () => {
    const org = await newOrg()
    const { token } = (await newToken(ann, 'read')).body
    const refused = await sendZip(client(grove, token), org, await zipOf({ 'a.md': 'a' }))
    expect({ status: refused.status, code: refused.body.code }).to.deep.equal({ status: 403, code: 'token_scope' })
    await ann.put(`/orgs/${org}/members/${bob.user.email}`, { role: 'contributor' }).then(expecting(200))
    const dee = await signUp(grove, `Dee ${randomUUID().slice(0, 8)}`)
    for (const [who, code] of [
      [bob, 'forbidden'],
      [dee, 'org_not_found'],
    ] as const)
      expect((await sendZip(who, org, Buffer.alloc(300 * 1_048_576))).body.code).to.equal(code)
  })
})

function newToken(who: PersonClient, access: string) {
  return who.post('/auth/tokens', { name: 'import', access }).then(expecting(201))
}

const temporary: string[] = []

async function folderOf(name: string, files: Files): Promise<string> {
  const outer = await mkdtemp(join(tmpdir(), 'grove-uploads-'))
  temporary.push(outer)
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(outer, name, path)), { recursive: true })
    await writeFile(join(outer, name, path), content)
  }
  return join(outer, name)
}

after(async () => {
  for (const folder of temporary) await rm(folder, { recursive: true, force: true })
})
