import { type ChildProcess, spawn } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect } from 'chai'
import { v5 as uuidFrom } from 'uuid'
import { gitLines } from './support/data-folder.ts'
import { type Grove, type PersonClient, signUp, startGrove } from './support/grove.ts'

type Files = Record<string, string | Buffer>

const vault: Files = {
  'index.md': '# The garden\n\nBegin with [roses](plants/rose.md).\n',
  'plants/index.md': '---\ntitle: All plants\n---\nWhat grows here.\n',
  'plants/rose.md':
    '---\ntags: [flower, red]\nheight: 120\n---\n# Rose\n\nIt has [[thorn|sharp ends]]. ![a bush](../pictures/rose.png)\n\nSee [[Nowhere]].\n',
  'plants/thorn.md': '# Thorn\n\nPart of a [rose](rose.md), says the zoologist.\n',
  'pictures/rose.png': Buffer.from('89504e470d0a1a0a00ff', 'hex'),
  'zebra.md': '# Zebra\n\nEats none of it.\n',
}

describe('import', function () {
  this.timeout(120_000)
  let grove: Grove
  let ann: PersonClient
  const temporary: string[] = []

  before(async () => {
    grove = await startGrove()
    ann = await signUp(grove, 'Ann')
  })
  after(async () => {
    await grove.close()
    for (const folder of temporary) await rm(folder, { recursive: true, force: true })
  })

  describe('of a vault', () => {
    let folder: string
    let org: string
    let first: Finished

    before(async () => {
      folder = await folderOf('Garden', vault)
      first = await importAs(folder)
      org = orgIn(first)
    })

    it('says what it made and what it could not place, progress apart on standard error', () => {
      expect(first).to.deep.include({ code: 0 })
      expect(first.stdout).to.equal(
        `Garden (${org}): 5 nodes, 4 parent edges, 3 connections, 1 attachments
5 created, 0 updated, 0 unchanged
1 things could not be placed as they are:
  plants/rose.md: unresolved link: [[Nowhere]]
`,
      )
      expect(first.stderr).to.match(
        /^(Reading \d+ % \d\/6\n)*Reading 100 % 6\/6\n(Writing \d+ % \d+\/10\n)*Writing 100 % 10\/10\n$/,
      )
    })

    it("makes an organisation of the folder's name, the importer's own", async () => {
      expect((await ann.get(`/orgs/${org}`)).body).to.include({ name: 'Garden', role: 'owner', published: false })
    })

    it('turns folders into parents, links into connections, front matter into tags and properties', async () => {
      const nodes = await nodesOf(org)
      expect([...nodes.keys()].sort()).to.deep.equal(['All plants', 'Rose', 'The garden', 'Thorn', 'Zebra'])
      const rose = (await ann.get(`/orgs/${org}/nodes/${nodes.get('Rose')?.id}`)).body
      expect(rose).to.deep.include({
        tags: ['flower', 'red'],
        properties: { height: 120, source_path: 'plants/rose.md' },
        text_content: vault['plants/rose.md']?.toString().split('---\n')[2],
        num_ancestors: 2,
      })
      expect(titles(rose.parents)).to.deep.equal(['All plants'])
      expect(await linksIn(org)).to.deep.equal(['Rose→Thorn sharp ends', 'The garden→Rose roses', 'Thorn→Rose rose'])
      const tagged = await ann.get(`/orgs/${org}/nodes?tag=flower`)
      expect(titles(tagged.body.nodes)).to.deep.equal(['Rose'])
    })

    it('keeps a picture in the node that shows it, byte by byte', async () => {
      const node = `/orgs/${org}/nodes/${(await nodesOf(org)).get('Rose')?.id}`
      const path = encodeURIComponent('attachments/pictures/rose.png')
      const { body } = await ann.get(`${node}/tree/main/files/${path}`)
      expect(Buffer.from(body.content, body.encoding)).to.deep.equal(vault['pictures/rose.png'])
    })

    it('is found by search in the service that was running all the while', async () => {
      const { body } = await ann.post(`/orgs/${org}/search/retrieve`, {
        query: 'zoologist',
        expansion_depth: 'deep',
      })
      expect(titles(body.matches)).to.deep.equal(['Thorn'])
      expect(titles(body.nodes).sort()).to.deep.equal(['All plants', 'Rose', 'The garden', 'Thorn'])
    })

    it('commits nothing the second time', async () => {
      const before = await nodesOf(org)
      const again = await importAs(folder)
      expect(again.code).to.equal(0)
      expect(again.stdout).to.contain(`Garden (${org})`).and.contain('\n0 created, 0 updated, 5 unchanged\n')
      expect(await nodesOf(org)).to.deep.equal(before)
    })

    it('makes one commit of an edited file, none of any other', async () => {
      const before = await nodesOf(org)
      await writeFile(join(folder, 'zebra.md'), '# Zebra\n\nEats the roses.\n')
      const again = await importAs(folder)
      expect(again.stdout).to.contain('\n0 created, 1 updated, 4 unchanged\n')
      const after = await nodesOf(org)
      const zebra = after.get('Zebra')
      const path = `/orgs/${org}/nodes/${zebra?.id}/tree/main/commits`
      const { history, total } = (await ann.get(path)).body
      expect({ total, ...history[0] }).to.deep.include({ total: 2, message: 'Import zebra.md', author: 'Ann' })
      expect(history[0].parent_commits).to.deep.equal([before.get('Zebra')?.head])
      before.delete('Zebra')
      after.delete('Zebra')
      expect(after).to.deep.equal(before)
    })

    it('takes back what was edited in Grove, and keeps it in the history', async () => {
      const node = `/orgs/${org}/nodes/${(await nodesOf(org)).get('Thorn')?.id}`
      await ann.patch(node, { text_content: 'Edited here.', tags: ['mine'] })
      expect((await importAs(folder)).stdout).to.contain('\n0 created, 1 updated, 4 unchanged\n')
      expect((await ann.get(node)).body).to.deep.include({ text_content: vault['plants/thorn.md'], tags: [] })
      const { history } = (await ann.get(`${node}/tree/main/commits`)).body
      expect(history.map((commit: { message: string }) => commit.message)).to.include('Edit node')
    })

    it('names a node whose file is gone, and keeps it', async () => {
      await rm(join(folder, 'zebra.md'))
      const again = await importAs(folder)
      expect(again.code).to.equal(0)
      expect(again.stdout).to.contain('kept, though its file is gone: zebra.md (Zebra)\n')
      expect([...(await nodesOf(org)).keys()]).to.include('Zebra')
      await writeFile(join(folder, 'zebra.md'), vault['zebra.md'] ?? '')
      expect((await importAs(folder)).stdout)
        .to.contain('\n0 created, 1 updated, 4 unchanged\n')
        .and.not.contain('kept')
    })

    it('brings back a node that was deleted in Grove', async () => {
      const node = `/orgs/${org}/nodes/${(await nodesOf(org)).get('Thorn')?.id}`
      expect((await ann.delete(node)).status).to.equal(204)
      expect((await importAs(folder)).stdout).to.contain('\n1 created, 0 updated, 4 unchanged\n')
      expect(await linksIn(org)).to.deep.equal(['Rose→Thorn sharp ends', 'The garden→Rose roses', 'Thorn→Rose rose'])
    })
  })

  describe('whatever the order', () => {
    it('connects files that link to later ones and to each other', async () => {
      const folder = await folderOf('Circle', { 'a.md': '[[b]] [[c]]', 'b.md': '[[a]]', 'c.md': '[[c]] [[b]]' })
      const done = await importAs(folder)
      expect(done.stdout).to.contain('4 nodes, 3 parent edges, 4 connections').and.contain('4 created')
      expect(await linksIn(orgIn(done))).to.deep.equal(['A→B', 'A→C', 'B→A', 'C→B'])
    })

    it('completes what a kill interrupted', async () => {
      const names = Array.from({ length: 40 }, (_, at) => `n${at}`)
      const files = Object.fromEntries(names.map((name, at) => [`${name}.md`, `[[n${(at + 1) % 40}]] [[n${at - 1}]]`]))
      const folder = await folderOf('Broken', files)
      const killed = start(['import', folder, '--as', 'ann@example.org'])
      killed.child.stderr?.on('data', () => {
        if (/^Writing/m.test(killed.said.stderr)) setTimeout(() => killed.child.kill('SIGKILL'), 400)
      })
      expect((await killed.done).code).to.equal(null)
      const again = await importAs(folder)
      expect(again).to.deep.include({ code: 0 })
      expect((await nodesOf(orgIn(again))).size).to.equal(41)
      expect((await importAs(folder)).stdout).to.contain('\n0 created, 0 updated, 41 unchanged\n')
    })

    it('makes each node once when two import the same at once', async () => {
      const org = (await ann.post('/orgs', { name: 'Two' })).body.id
      const folder = await folderOf('Two', vault)
      const both = await Promise.all([importAs(folder, '--org', org), importAs(folder, '--org', org)])
      const made = both.map(({ stdout }) => Number(/(\d+) created/.exec(stdout)?.[1]))
      expect(made.reduce((sum, one) => sum + one)).to.equal(5)
      const last = await importAs(folder, '--org', org)
      expect(last.stdout).to.contain('0 created').and.contain('\n1 things')
      expect((await nodesOf(org)).size).to.equal(5)
      expect((await importAs(folder, '--org', org)).stdout).to.contain('\n0 created, 0 updated, 5 unchanged\n')
    })
  })

  describe('of what cannot be placed', () => {
    it('loses nothing else to names that collide or are too long, and names them', async () => {
      const long = Array(5).fill('x'.repeat(250)).join('/')
      const folder = await folderOf('Odd', {
        'note.md': '![](Photo.png) ![](photo.png)\n',
        'Photo.png': 'one',
        'photo.png': 'two',
        [`${long}/deep.bin`]: 'too long a path',
        [`${long}/deep.md`]: '# Deep\n',
        'latin.md': Buffer.from('# Caf\xe9\n', 'latin1'),
        'bad.md': '---\ntitle: [unclosed\n---\n# Bad\n',
      })
      const done = await importAs(folder)
      expect(done.code).to.equal(0)
      const problems = done.stdout.split('could not be placed as they are:\n')[1]?.split('\n') ?? []
      expect(problems.filter(Boolean).map((line) => line.replace(long, 'LONG'))).to.deep.equal([
        '  bad.md: front matter left in the text: Flow sequence in block collection must be sufficiently indented and end with a ] at line 3, column 1',
        '  latin.md: not UTF-8: kept as an attachment',
        '  photo.png: not attached to note.md: but for case, Photo.png there has its name',
        '  LONG/deep.bin: A path cannot be longer than 1024 bytes',
      ])
      expect([...(await nodesOf(orgIn(done))).keys()]).to.include.members(['Odd', 'Note', 'Bad', 'Deep'])
    })

    it('names a node that is refused, keeps the others with all their other edges, and ends with 1', async () => {
      const [org, elsewhere] = [await newOrg('Refused'), await newOrg('Elsewhere')]
      const taken = { title: 'Taken', id: uuidFrom('plants', org) }
      expect((await ann.post(`/orgs/${elsewhere}/nodes`, taken)).status).to.equal(201)
      const folder = await folderOf('Refused', {
        ...vault,
        'zebra.md': '[all](plants/index.md) [rose](plants/rose.md)',
      })
      const done = await importAs(folder, '--org', org)
      expect(done.code).to.equal(1)
      expect(done.stdout).to.contain('\n4 created, 0 updated, 0 unchanged\n')
      expect(done.stdout.split('as they are:\n')[1]).to.equal(
        `  plants/rose.md: unresolved link: [[Nowhere]]
  plants/index.md: This id is taken
  plants/rose.md: 1 of its edges lead to what could not be placed
  plants/thorn.md: 1 of its edges lead to what could not be placed
  zebra.md: 1 of its edges lead to what could not be placed
`,
      )
      expect(await linksIn(org)).to.include('Zebra→Rose rose')
      expect((await importAs(folder, '--org', org)).stdout).to.contain('\n0 created, 0 updated, 4 unchanged\n')
    })

    it('creates, but does not edit, where main needs pull requests', async () => {
      const org = (await ann.post('/orgs', { name: 'Careful', require_pull_requests: true })).body.id
      const folder = await folderOf('Careful', { 'a.md': '# A\n', 'b.md': '[[a]]\n' })
      expect(await importAs(folder, '--org', org)).to.deep.include({ code: 0 })
      await writeFile(join(folder, 'a.md'), '# A\n\nEdited.\n')
      const again = await importAs(folder, '--org', org)
      expect(again.code).to.equal(1)
      expect(again.stdout).to.contain('\n0 created, 0 updated, 2 unchanged\n')
      expect(again.stdout).to.contain('  a.md: main of this organisation moves only by merging a pull request\n')
    })
  })

  describe('ends with 2 and a sentence', () => {
    let folder: string
    before(async () => {
      folder = await folderOf('Small', { 'a.md': 'A' })
    })

    it('for an unknown account', async () => {
      expect(await run('import', folder, '--as', 'nobody@example.org')).to.deep.equal({
        code: 2,
        stdout: '',
        stderr: 'grove: Nobody has signed up as nobody@example.org; sign up first (POST /auth/signup)\n',
      })
    })

    it('for what is no folder', async () => {
      for (const path of [join(folder, 'a.md'), join(folder, 'absent')])
        expect(await importAs(path)).to.deep.equal({ code: 2, stdout: '', stderr: `grove: ${path} is not a folder\n` })
    })

    it("for an organisation that is not there, or is somebody else's", async () => {
      const bob = await signUp(grove, 'Bob')
      for (const org of ['absent', bob.org])
        expect(await importAs(folder, '--org', org)).to.deep.equal({
          code: 2,
          stdout: '',
          stderr: 'grove: Organisation not found\n',
        })
    })

    it('for a reader of the organisation', async () => {
      const carl = await signUp(grove, 'Carl')
      await carl.put(`/orgs/${carl.org}/members/ann@example.org`, { role: 'reader' })
      const { code, stdout, stderr } = await importAs(folder, '--org', carl.org)
      expect({ code, stdout }).to.deep.equal({ code: 2, stdout: '' })
      expect(stderr).to.match(/\ngrove: This needs the role editor; yours is reader\n$/)
    })

    it('for a command line that says too little, too much or nothing that there is', async () => {
      const stderr = async (...args: string[]) => {
        const done = await run(...args)
        expect({ code: done.code, stdout: done.stdout }).to.deep.equal({ code: 2, stdout: '' })
        return done.stderr
      }
      expect(await stderr('import', folder)).to.equal("error: required option '--as <email>' not specified\n")
      expect(await stderr('import', '--as', 'a@b.c')).to.equal("error: missing required argument 'folder'\n")
      expect(await stderr('frobnicate')).to.equal("error: unknown command 'frobnicate'\n")
    })
  })

  it('goes on when nobody reads what it says', async () => {
    const folder = await folderOf('Pipe', vault)
    const shell = `"$0" dist/cli.js import "$1" --as ann@example.org | true; echo "\${PIPESTATUS[0]}"`
    const done = await finished(spawn('bash', ['-c', shell, process.execPath, folder], { env: environment() }))
    expect(done.stdout).to.equal('0\n')
    const { orgs } = (await ann.get('/orgs?limit=200')).body
    const { id } = orgs.find((org: { name: string }) => org.name === 'Pipe')
    expect((await nodesOf(id)).size).to.equal(5)
  })

  it('leaves repositories that git finds nothing wrong with', async () => {
    const folder = await folderOf('Sound', vault)
    const org = orgIn(await importAs(folder))
    for (const { id } of (await nodesOf(org)).values()) {
      const repo = join(grove.dataDir, org, `${id}.git`)
      expect(await gitLines(repo, 'fsck', '--full', '--strict', '--no-progress')).to.deep.equal([])
    }
  })

  async function folderOf(name: string, files: Files): Promise<string> {
    const outer = await mkdtemp(join(tmpdir(), 'grove-import-'))
    temporary.push(outer)
    for (const [path, content] of Object.entries(files)) {
      await mkdir(dirname(join(outer, name, path)), { recursive: true })
      await writeFile(join(outer, name, path), content)
    }
    return join(outer, name)
  }

  async function newOrg(name: string): Promise<string> {
    return (await ann.post('/orgs', { name })).body.id
  }

  /** By title. */
  async function nodesOf(org: string): Promise<Map<string, { id: string; head: string }>> {
    const { body } = await ann.get(`/orgs/${org}/nodes?limit=200`)
    return new Map(
      body.nodes.map(({ title, id, head }: { title: string; id: string; head: string }) => [title, { id, head }]),
    )
  }

  /** `source→target label` of every connection. */
  async function linksIn(org: string): Promise<string[]> {
    const nodes = await nodesOf(org)
    const titleOf = new Map([...nodes].map(([title, { id }]) => [id, title]))
    const links = new Set<string>()
    for (const { id } of nodes.values()) {
      const { connections } = (await ann.get(`/orgs/${org}/nodes/${id}`)).body
      for (const { source, target, label } of connections)
        links.add(`${titleOf.get(source)}→${titleOf.get(target)} ${label}`.trim())
    }
    return [...links].sort()
  }

  function importAs(folder: string, ...more: string[]): Promise<Finished> {
    return run('import', folder, '--as', 'ann@example.org', ...more)
  }

  function run(...args: string[]): Promise<Finished> {
    return start(args).done
  }

  function start(args: string[]) {
    const child = spawn(process.execPath, ['dist/cli.js', ...args], { env: environment() })
    const said = { stdout: '', stderr: '' }
    return { child, said, done: finished(child, said) }
  }

  function environment(): NodeJS.ProcessEnv {
    return { ...process.env, DATA_DIR: grove.dataDir, LOG_LEVEL: 'warn', UV_THREADPOOL_SIZE: '16' }
  }
})

interface Finished {
  /** Null: killed. */
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

function finished(child: ChildProcess, said = { stdout: '', stderr: '' }): Promise<Finished> {
  child.stdout?.on('data', (chunk) => {
    said.stdout += chunk
  })
  child.stderr?.on('data', (chunk) => {
    said.stderr += chunk
  })
  return new Promise((done) => child.once('close', (code) => done({ code, ...said })))
}

function orgIn({ stdout, stderr }: Finished): string {
  const id = /\(([0-9a-f-]{36})\)/.exec(stdout)?.[1]
  if (id === undefined) throw new Error(`the import named no organisation:\n${stdout}${stderr}`)
  return id
}

function titles(nodes: { title: string }[]): string[] {
  return nodes.map((node) => node.title)
}
