/** Imports of typed notes: connections of front matter, refusals and problems. */

import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect } from 'chai'
import { runCommand } from '../support/command.ts'
import { type Grove, startGrove } from '../support/grove.ts'
import { expecting } from '../support/node.ts'
import { type PersonClient, signUp } from '../support/people.ts'
import { type Files, imported, zipOf } from '../support/uploads.ts'

const recipe = {
  title: 'Recipe',
  aliases: ['recipes'],
  schema: { required: ['serves'], properties: { serves: { type: 'integer' } } },
  connections: { author: { to: ['person'], max: 1 }, similar: {} },
}
const garden: Files = {
  'soup.md':
    '---\ntype: Recipes\nserves: 4\nauthor: "[[Ann]]"\nsimilar:\n  - "[[Stew|a thick one]]"\n  - "[[Nowhere]]"\nseen: "[[Ann]]"\n---\nMade by [[Ann]].\n',
  'Ann.md': '---\ntype: person\n---\nCooks.\n',
  'Stew.md': '---\ntype: recipe\nserves: 2\n---\nThick.\n',
  'free.md': '---\nauthor: "[[Ann]]"\n---\nNo type.\n',
}

describe('imports of typed notes', () => {
  let grove: Grove
  let ann: PersonClient
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'grove-typed-'))
  })
  afterEach(() => rm(folder, { recursive: true }))
  before(async () => {
    grove = await startGrove()
    ann = await signUp(grove, 'Ann')
  })
  after(() => grove.close())

  let orgs = 0
  const newOrg = async (definition?: object): Promise<string> => {
    const org = (await ann.post('/orgs', { name: `Kitchen ${++orgs}` }).then(expecting(201))).body.id
    if (definition) await define(org, 'recipe', definition)
    return org
  }
  const define = (org: string, name: string, definition: object) =>
    ann.put(`/orgs/${org}/types/${name}`, { definition }).then(expecting(200))
  const write = async (files: Files) => {
    for (const [path, text] of Object.entries(files)) {
      await mkdir(dirname(join(folder, path)), { recursive: true })
      await writeFile(join(folder, path), text)
    }
  }
  const command = async (...args: string[]) => {
    const env = { ...process.env, DATA_DIR: grove.dataDir, LOG_LEVEL: 'warn' }
    const { code, stdout, stderr } = await runCommand([...args, '--as', 'ann@example.org'], env)
    return { code, text: stdout + stderr }
  }
  const exportTo = async (org: string, out: string) => {
    const env = { ...process.env, DATA_DIR: grove.dataDir, LOG_LEVEL: 'warn' }
    const { code, stderr } = await runCommand(['export', org, out], env)
    expect(code, stderr).to.equal(0)
  }
  /** The connections of each note, by type, with the titles of the targets. */
  const edges = async (org: string) => {
    const { nodes } = (await ann.get(`/orgs/${org}/nodes?limit=100`).then(expecting(200))).body
    const titles = new Map(nodes.map(({ id, title }: { id: string; title: string }) => [id, title]))
    const found: Record<string, string[]> = {}
    for (const { id, title } of nodes) {
      const { connections } = (await ann.get(`/orgs/${org}/nodes/${id}`).then(expecting(200))).body
      found[title] = connections

        .filter(({ source }: { source?: string }) => source === undefined || source === id)
        .map(({ target, type, label }: { target: string; type: string; label: string }) =>
          [type, titles.get(target), ...(label ? [label] : [])].join(' '),
        )
        .sort()
    }
    return found
  }
  const soup = ['author Ann', 'links_to Ann', 'similar Stew a thick one']

  it('give a link of front matter the connection of its name, if the type declares one', async () => {
    const org = await newOrg(recipe)
    const { state, report } = await imported(ann, org, await zipOf(garden))
    expect(state).to.equal('done')
    expect(report?.problems).to.deep.equal([])
    const found = await edges(org)
    expect(found.Soup).to.deep.equal(soup)
    expect(found.Free).to.deep.equal(['links_to Ann'])
  })

  it('follow a type that is defined later, also in an unchanged folder', async () => {
    const org = await newOrg()
    await write(garden)
    await command('import', folder, '--org', org)
    expect((await command('import', folder, '--org', org)).text).to.include('0 created, 0 updated')
    expect((await edges(org)).Soup).to.deep.equal(['links_to Ann', 'links_to Stew a thick one'])
    await define(org, 'recipe', recipe)
    const { text } = await command('import', folder, '--org', org)
    expect(text).to.include('0 created, 1 updated')
    expect((await edges(org)).Soup).to.deep.equal(soup)
  })

  it('of an export change nothing, and an edit of the property moves the connection', async () => {
    const org = await newOrg(recipe)
    await imported(ann, org, await zipOf(garden))
    const out = join(folder, 'out')
    await exportTo(org, out)
    const texts = async () => {
      const names = (await readdir(out)).filter((name) => name.endsWith('.md')).sort()
      return Promise.all(names.map((name) => readFile(join(out, name), 'utf8')))
    }
    const before = await texts()
    expect((await command('import', out, '--org', org)).text).to.include('0 created, 0 updated')
    await exportTo(org, out)
    expect(await texts()).to.deep.equal(before)
    const note = join(out, 'soup.md')
    const text = await readFile(note, 'utf8')
    expect(text).to.include('author: "[[Ann]]"')
    await writeFile(note, text.replace('author: "[[Ann]]"', 'author: "[[free]]"'))
    expect((await command('import', out, '--org', org)).text).to.include('0 created, 1 updated')
    expect((await edges(org)).Soup).to.deep.equal(['author Free', 'links_to Ann', 'similar Stew a thick one'])
  })

  const strict = { ...recipe, enforcement: 'strict' }
  const wrong: Files = {
    'wrong.md': '---\ntype: recipe\nserves: four\n---\nWrong.\n',
    'none.md': '---\ntags: [a]\ntype: recipe\n---\nNone.\n',
    'edge.md': '---\ntype: recipe\nserves: 1\nauthor: "[[Stew]]"\n---\nEdge.\n',
  }
  const refusals = [
    {
      path: 'edge.md',
      reason:
        'line 4: connections.author must have nodes of type "person" at the other end; connection ID leads to a node of type "recipe" (type recipe)',
    },
    { path: 'none.md', reason: 'line 3: properties.serves is missing (type recipe)' },
    {
      path: 'wrong.md',
      reason: 'line 3: properties.serves must be a whole number; it is the text "four" (type recipe)',
    },
  ]
  const withoutIds = (problems: readonly { path: string; reason: string }[] = []) =>
    problems
      .map(({ path, reason }) => ({ path, reason: reason.replace(/connection \S+/, 'connection ID') }))
      .sort((a, b) => (a.path < b.path ? -1 : 1))

  it('refuse notes that break rules of a strict type, with their lines, and write the others', async () => {
    const org = await newOrg(strict)
    const zip = await zipOf({ ...garden, ...wrong })
    const dry = await imported(ann, org, zip, '?dry_run=true')
    expect(withoutIds(dry.report?.problems)).to.deep.equal(refusals)
    expect(dry.report?.created.map(({ path }) => path))
      .to.include('soup.md')
      .and.not.include('wrong.md')
    const { report } = await imported(ann, org, zip)
    expect(withoutIds(report?.problems)).to.deep.equal(refusals)
    expect(report?.counts.created).to.equal(dry.report?.counts.created)
    expect((await edges(org)).Soup).to.deep.equal(soup)
    await write({ ...garden, ...wrong })
    const { code, text } = await command('import', folder, '--org', org)
    expect(code).to.equal(1)
    for (const { path, reason } of refusals.slice(1)) expect(text).to.include(`  ${path}: ${reason}\n`)
  })

  it('count the problems of advisory types, and store the notes', async () => {
    const org = await newOrg(recipe)
    await write({ ...garden, ...wrong })
    const note = 'Note: 3 notes break 3 rules of their types more than before; the type pages list them\n'
    expect((await command('import', folder, '--org', org, '--dry-run')).text).to.include(note)
    expect((await command('import', folder, '--org', org)).text).to.include(note)
    const { total } = (await ann.get(`/orgs/${org}/types/recipe/problems`).then(expecting(200))).body
    expect(total).to.equal(3)
    expect((await command('import', folder, '--org', org)).text).to.not.include('break')
  })
})
