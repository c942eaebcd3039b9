/** Files that came from a vault go back where they lay; an unchanged export changes nothing when it is imported. */

import { mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { ann, folderOf, grove, importAs, nodesOf, orgIn, run, useService } from '../import/command.ts'
import { expecting } from '../support/node.ts'
import { filesIn } from './folders.ts'

const png = Buffer.from('89504e470d0a1a0a00ff', 'hex')
const bytes = (text: string) => Buffer.concat([png, Buffer.from(text)])

const site = {
  'index.md': '# Site\n\n![](/img/logo.png) ![](img/logo.png)\n',
  'docs/a.md': '# A\n\n![](/img/shared.png) ![](/img/logo.png) ![beside](./own/a.png)\n',
  'docs/b.md': '# B\n\n![](/img/shared.png) ![[pasted image.png]] `attachments/deep/x.pdf` [paper](../deep/x.pdf)\n',
  'docs/deep/c.md': '# C\n\n<img src="/img/shared.png"> ![](../../img/logo.png) ![](photo.png) ![](/img/what%3F.png)\n',
  'blog/post.md': '# Post\n\nShown from its page: ![](chart.png)\n',
  'blog/post/chart.png': bytes('chart'),
  'img/logo.png': bytes('logo'),
  'img/shared.png': bytes('shared'),
  'img/what?.png': bytes('what'),
  'img/unused.png': bytes('unused'),
  'docs/own/a.png': bytes('a'),
  'docs/deep/photo.png': bytes('photo'),
  'deep/x.pdf': bytes('x'),
  'Attachments/pasted image.png': bytes('pasted'),
}

describe('an export', () => {
  useService()
  const folders: string[] = []
  const newDir = async () => {
    const outer = await mkdtemp(join(tmpdir(), 'grove-export-'))
    folders.push(outer)
    return join(outer, 'out')
  }
  after(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true }))))
  const tokenFile = async () => {
    const { token } = (await ann.post('/auth/tokens', { name: 'x', access: 'write' }).then(expecting(201))).body
    return join(await folderOf('Token', { token }), 'token')
  }
  const unchanged = (nodes: number) => `\n0 created, 0 updated, ${nodes} unchanged\n`
  const historyOf = async (org: string) =>
    Object.fromEntries([...(await nodesOf(org))].map(([title, { head }]) => [title, head]))

  it.deep('puts the files of a site back where they lay, also those that links from its root show', async () => {
    const folder = await folderOf('Site', site)
    const org = orgIn(await importAs(folder))
    const dir = await newDir()
    expect((await run('export', org, dir)).code).to.equal(0)
    const files = await filesIn(dir)
    const others = [...files.keys()].filter((path) => !path.endsWith('.md'))
    expect(others).to.deep.equal(
      Object.keys(site)
        .filter((path) => !path.endsWith('.md'))
        .sort(),
    )
    for (const path of others) expect(files.get(path), path).to.deep.equal(await readFile(join(folder, path)))
    for (const [path, text] of Object.entries(site))
      if (typeof text === 'string') expect(files.get(path)?.toString().endsWith(`---\n${text}`), path).to.equal(true)
    const before = await historyOf(org)
    expect((await importAs(dir)).stdout).to.contain(unchanged(before ? Object.keys(before).length : 0))
    expect((await importAs(folder)).stdout).to.contain(', 0 updated,')
    expect(await historyOf(org)).to.deep.equal(before)
  })

  it('keeps the placeholders and empty keys of a template, and names what it cannot keep', async () => {
    const lines = [
      'created: {{date}}',
      'at: {{date:YYYY-MM-DD HH:mm}}',
      'quoted: "{{date}}"',
      'name: {{ replace .Name "-" " " | title }}',
      'all:\n  - {{a}}\n  - b: {{c}}\n  -',
      'empty:',
    ]
    const body = 'Made on {{date}}.\n'
    const left = {
      'Key.md': '---\n{{a}}: b\n---\n',
      'Part.md': '---\na: {{b}: c}\n---\n',
      'List.md': '---\n? [a]\n: b\n---\n',
    }
    const folder = await folderOf('Templates', {
      'Book.md': `---\n${lines.join('\n')}\n---\n${body}`,
      'Title.md': '---\ntitle: {{title}}\n---\n',
      ...left,
    })
    const { stdout, ...imported } = await importAs(folder)
    const problems = stdout.split('\n').filter((line) => line.startsWith('  '))
    const isLeft = 'front matter left in the text: one of its keys is an object or a list'
    expect(problems).to.deep.equal([
      ...['Key', 'List', 'Part'].map((name) => `  ${name}.md: ${isLeft}`),
      '  Title.md: its title in the front matter is not a text, so it is only a property of the node',
    ])
    const dir = await newDir()
    await run('export', orgIn({ stdout, ...imported }), dir)
    const files = await filesIn(dir)
    const [, head = '', ...rest] = files.get('Book.md')?.toString().split('---\n') ?? []
    expect(head.replace(/ +$/gm, '')).to.contain(`${lines.join('\n')}\nid: `)
    expect(rest.join('')).to.equal(body)
    for (const [path, text] of Object.entries(left))
      expect(files.get(path)?.toString())
        .to.match(/^---\ntitle: /)
        .and.contain(text)
    expect((await importAs(dir)).stdout).to.contain(unchanged(6))
  })

  it('keeps the place of a file whose note is moved in the exported folder', async () => {
    const folder = await folderOf('Moved', {
      'a/b.md': '# B\n\n![](/img/x.png) ![](y.png)\n',
      'img/x.png': 'x',
      'a/y.png': 'y',
    })
    const org = orgIn(await importAs(folder))
    const dir = await newDir()
    await run('export', org, dir)
    await rename(join(dir, 'a/b.md'), join(dir, 'b.md'))
    expect((await importAs(dir)).stdout).to.contain('1 renamed')
    const again = await newDir()
    await run('export', org, again)
    expect([...(await filesIn(again)).keys()]).to.deep.equal(['a/index.md', 'a/y.png', 'b.md', 'img/x.png', 'index.md'])
  })

  it.deep(
    'of nodes that were made here, of folders and of foreign JSON makes no commit when it is imported',
    async () => {
      const org = (await ann.post('/orgs', { name: 'Born' }).then(expecting(201))).body.id
      const make = async (node: object) => (await ann.post(`/orgs/${org}/nodes`, node).then(expecting(201))).body.id
      const commit = (id: string, path: string, content: string) =>
        ann
          .post(`/orgs/${org}/nodes/${id}/tree/main/commits`, {
            message: 'x',
            changes: [{ action: 'put', path, content }],
          })
          .then(expecting(201))
      const one = await make({
        title: 'One',
        text_content: 'Here.\n',
        tags: ['x'],
        properties: { b: 1, id: 'own', a: [{ c: 2 }] },
      })
      const two = await make({ title: 'Two', parents: [one], properties: { source_files: 7 } })
      const three = await make({ title: 'Three', parents: [one] })
      await make({ title: 'Elsewhere', properties: { z: 1, source_path: 'x\\y', y: 2 } })
      await make({ title: 'Number', properties: { source_path: 7 } })
      for (const id of [two, three]) await commit(id, 'img/same name.svg', `<svg>${id}</svg>`)
      await commit(two, 'attachments/kept.svg', '<svg/>')
      await ann
        .post(`/orgs/${org}/nodes/${two}/connections`, { target: one, type: 'cites', label: 'x' })
        .then(expecting(201))
      await commit(three, 'node.json', '{"kind":"page","properties":{"b":1,\n"a":2},"title":"Three"}')
      await commit(three, 'connections/own.json', `{"target":"${one}","type":"cites","weight":3}`)
      const vault = orgIn(
        await importAs(await folderOf('Folders', { 'plants/rose.md': '# Rose\n', 'zoo/x/y.md': '# Y\n' })),
      )
      for (const id of [org, vault]) {
        const before = await historyOf(id)
        const dir = await newDir()
        await run('export', id, dir)
        const files = await filesIn(dir)
        for (const _ of [1, 2]) {
          const { stdout } = await importAs(dir)
          expect(stdout).to.contain(unchanged(Object.keys(before).length))
          expect(await historyOf(id)).to.deep.equal(before)
        }
        const afar = await run('import', dir, '--to', grove.url, '--token-file', await tokenFile())
        expect(afar.stdout, afar.stderr).to.contain(unchanged(Object.keys(before).length))
        expect((await run('export', id, dir)).stdout).to.contain(': 0 files written')
        expect(await filesIn(dir)).to.deep.equal(files)
      }
    },
  )

  it('names a node that was made here when its note is removed from the folder, and knows a note that is moved', async () => {
    const org = (await ann.post('/orgs', { name: 'Ghosts' }).then(expecting(201))).body.id
    for (const title of ['Stays', 'Goes', 'Moves'])
      await ann.post(`/orgs/${org}/nodes`, { title, text_content: `About ${title}.\n` }).then(expecting(201))
    const dir = await newDir()
    await run('export', org, dir)
    await importAs(dir)
    await rm(join(dir, 'Goes.md'))
    await rename(join(dir, 'Moves.md'), join(dir, 'Moved.md'))
    const { stdout } = await importAs(dir)
    expect(stdout).to.contain('\n0 created, 0 updated, 1 renamed, 1 unchanged\n')
    expect(stdout).to.contain('\nkept, although its file is gone: Goes.md (Goes)\n')
    expect((await importAs(dir, '--prune')).stdout).to.contain(', 1 removed, 2 unchanged\n')
    // With it, the folder becomes a node.
    await writeFile(join(dir, 'Goes.md'), 'A new one.\n')
    expect((await importAs(dir)).stdout).to.contain('\n2 created, 0 updated, 2 unchanged\n')
  })
})
