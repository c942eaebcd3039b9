/** Vaults that come from outside, by import, export and import: the same ids, edges and bytes; edits in the folder count. */

import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { runs } from '../support/seed.ts'
import { ann, annThere, exportTo, here, importFrom, newOrg, stateOf, there, useTwoServices } from './there-and-back.ts'

const name = fc.constantFrom('a', 'A', 'b', 'index', 'README', 'é', 'e\u0301', 'What?', 'two words', '语', 'x.y')
const path = fc
  .tuple(fc.array(fc.constantFrom('sea', 'Sea', 'shore', '深い', 'a'), { maxLength: 2 }), name)
  .map((parts) => parts.flat().join('/'))
const link = fc
  .tuple(
    path,
    fc.constantFrom(
      '[[#]]',
      '![[#.png]]',
      '[words](#.md)',
      '![](#.png)',
      '![](/#.png)',
      '[[#|words]]',
      '[up](../#.md)',
    ),
  )
  .map(([to, form]) => form.replace('#', to))
const head = fc.constantFrom(
  '',
  '---\ntitle: Real title\ntags: [one, Two]\n---\n',
  '---\ntitle: 1.10\ndate: 2024-01-01\ntags: one, two\nno: no\n---\n',
  '---\nup: "[[a]]"\naliases: [other]\nid: intro\n---\n',
  '---\nbroken: [\n---\n',
  '+++\ntitle = "TOML"\n+++\n',
)
const note = fc
  .tuple(head, fc.array(fc.oneof(link, fc.constantFrom('# Heading', 'Prose #tag.')), { maxLength: 5 }))
  .map(([top, body]) => `${top}${body.join('\n\n')}\n`)
const vault = fc
  .tuple(
    fc.dictionary(path, note, { minKeys: 1, maxKeys: 8 }),
    fc.dictionary(path, fc.constantFrom('one', 'two'), { maxKeys: 4 }),
  )
  .map(([notes, pictures]) => ({
    ...Object.fromEntries(Object.entries(notes).map(([at, text]) => [`${at}.md`, text])),
    ...Object.fromEntries(Object.entries(pictures).map(([at, text]) => [`${at}.png`, text])),
  }))

type Files = Readonly<Record<string, string>>

describe('a vault that is imported', () => {
  useTwoServices()
  const folders: string[] = []

  after(async () => {
    for (const folder of folders) await rm(folder, { recursive: true, force: true })
  })

  const folderOf = async (files: Files) => {
    const outer = await mkdtemp(join(tmpdir(), 'grove-vault-'))
    folders.push(outer)
    const folder = join(outer, 'Garden')
    await mkdir(folder)
    for (const [at, content] of Object.entries(files)) {
      await mkdir(dirname(join(folder, at)), { recursive: true })
      await writeFile(join(folder, at), content)
    }
    return folder
  }
  const imported = async (files: Files) => {
    const org = await newOrg(ann)
    await importFrom(here, org, await folderOf(files))
    return org
  }
  const exported = async (org: string) => {
    const done = await exportTo(here, org)
    folders.push(done.dir)
    return done
  }

  it.deep(
    'and exported is imported elsewhere with the same nodes, and exported from there with the same bytes',
    async () => {
      await fc.assert(
        fc.asyncProperty(vault, async (files) => {
          const from = await imported(files)
          const first = await exported(from)
          const to = await newOrg(annThere)
          expect(await importFrom(there, to, first.dir)).to.deep.equal([])
          expect(await stateOf(there, to)).to.deep.equal(await stateOf(here, from))
          expect((await exportTo(there, to)).files).to.deep.equal(first.files)
        }),
        { seed: 20_261_122, numRuns: runs(6) },
      )
    },
  )

  const garden: Files = {
    'index.md': '# The garden\n\nBegin with [roses](plants/rose.md).\n',
    'plants/index.md': '---\ntitle: All plants\n---\nWhat grows here.\n',
    'plants/rose.md':
      '---\ntags: [flower]\nheight: 120\n---\n# Rose\n\nIt has [[thorn]]. ![](../pictures/rose.png) ![](bud.png)\n',
    'plants/thorn.md': '# Thorn\n\n![[rose.png]]\n',
    'plants/bud.png': 'bud',
    'pictures/rose.png': 'rose',
    'beds/north/list.md': 'Nothing yet.\n',
  }

  it('lies where it lay, with its pictures where its links lead', async () => {
    const { files } = await exported(await imported(garden))
    expect([...files.keys()]).to.deep.equal([
      'beds/index.md',
      'beds/north/index.md',
      ...['beds/north/list.md', 'index.md', 'pictures/rose.png', 'plants/bud.png'],
      ...['plants/index.md', 'plants/rose.md', 'plants/thorn.md'],
    ])
    for (const [path, content] of files) {
      const before = garden[path]
      if (path.endsWith('.png')) expect(content.toString()).to.equal(before)
      else if (before) expect(content.toString().endsWith(before.replace(/^---\n.*?---\n/s, ''))).to.equal(true)
    }
    expect(files.get('plants/rose.md')?.toString()).to.match(
      /^---\ntitle: Rose\ntags:\n {2}- flower\nheight: 120\nid: /,
    )
  })

  it.deep('changes nothing when its export is imported into it', async () => {
    const org = await imported(garden)
    const before = await stateOf(here, org)
    const { dir, files } = await exported(org)
    expect(await importFrom(here, org, dir)).to.deep.equal([])
    expect(await stateOf(here, org)).to.deep.equal(before)
    expect((await exported(org)).files).to.deep.equal(files)
  })

  it('in another organisation of the service has other ids, and the same edges', async () => {
    const { dir, files } = await exported(await imported(garden))
    const other = await newOrg(ann, 'Copy')
    await importFrom(here, other, dir)
    const copy = (await exported(other)).files
    expect([...copy.keys()]).to.deep.equal([...files.keys()])
    const known = new Map<string, string>()
    const same = (one: Buffer | undefined, another: Buffer | undefined) => {
      const ids = (text: string) => text.match(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g) ?? []
      const [old, now] = [ids(String(one)), ids(String(another))]
      for (const [at, id] of old.entries()) {
        expect(known.get(id) ?? now[at]).to.equal(now[at])
        known.set(id, now[at] ?? '')
      }
      expect(now.length).to.equal(old.length)
    }
    for (const [path, content] of files) same(content, copy.get(path))
    for (const [old, now] of known) expect(old).not.to.equal(now)
  })

  it('takes what is edited, added and moved in the exported folder', async () => {
    const org = await imported(garden)
    const list = (await ann.get(`/orgs/${org}/nodes?limit=200`)).body.nodes as { id: string; title: string }[]
    const idOf = (title: string) => list.find((node) => node.title === title)?.id ?? ''
    const rose = `/orgs/${org}/nodes/${idOf('Rose')}`
    const made = await ann.post(`${rose}/connections`, { target: idOf('All plants'), type: 'is_a', label: 'kind of' })
    expect(made.status).to.equal(201)
    await ann.put(`${rose}/parents/${idOf('The garden')}`, {})
    const { dir } = await exported(org)
    const text = await readFile(join(dir, 'plants/rose.md'), 'utf8')
    await writeFile(
      join(dir, 'plants/rose.md'),
      text.replace('height: 120', 'height: 130').replace('It has [[thorn]].', 'It has none, see [[list]]. #red'),
    )
    await writeFile(join(dir, 'plants/new.md'), 'New, beside a [[rose]].\n')
    await rename(join(dir, 'plants/thorn.md'), join(dir, 'spike.md'))
    expect(await importFrom(here, org, dir)).to.deep.equal([])
    const { body } = await ann.get(rose)
    expect(body.tags).to.deep.equal(['flower', 'red'])
    expect(body.properties).to.deep.equal({ height: 130, source_path: 'plants/rose.md' })
    const edges = body.connections.map((edge: Record<string, string>) => [
      edge.source_title,
      edge.type,
      edge.target_title,
      edge.label,
    ])
    expect(edges.sort()).to.deep.equal([
      ['New', 'links_to', 'Rose', ''],
      ['Rose', 'is_a', 'All plants', 'kind of'],
      ['Rose', 'links_to', 'List', ''],
      ['The garden', 'links_to', 'Rose', 'roses'],
    ])
    expect(body.parents.map(({ title }: { title: string }) => title).sort()).to.deep.equal(['All plants', 'The garden'])
    const thorn = (await ann.get(`/orgs/${org}/nodes/${idOf('Thorn')}`)).body
    expect(thorn.properties.source_path).to.equal('spike.md')
    expect((await ann.get(`/orgs/${org}/nodes?limit=200`)).body.total).to.equal(list.length + 1)
  })

  it('gets no node for a folder that only holds exported notes', async () => {
    const org = await newOrg(ann, 'Roots')
    for (const title of ['One', 'Two'])
      await ann.post(`/orgs/${org}/nodes`, { title, properties: { source_path: `deep/er/${title}.md` } })
    const { dir } = await exported(org)
    const to = await newOrg(annThere)
    await importFrom(there, to, dir)
    expect((await annThere.get(`/orgs/${to}/nodes`)).body.total).to.equal(2)
    await writeFile(join(dir, 'deep/three.md'), 'Three.\n')
    await importFrom(there, to, dir)
    const { nodes } = (await annThere.get(`/orgs/${to}/nodes`)).body
    expect(nodes.map(({ title }: { title: string }) => title).sort()).to.deep.equal(
      ['One', 'Three', 'Two', 'deep', dir.split('/').at(-1)].sort(),
    )
  })
})
