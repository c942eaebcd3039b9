/** Long texts, and what differs between them: a page has room for some, and never holds the rest. */

import { expect } from 'chai'
import { type Changes, readFileChanges } from '../../server/pages/text/diff.tsx'
import { merge3 } from '../../server/pages/text/passages.ts'
import { diffWords } from '../../server/pages/text/word-diff.ts'
import type { Api } from '../../spec/client/api.ts'
import { expecting, newNode } from '../support/node.ts'
import { pageAt, readPage } from '../support/pages.ts'
import { client, signUp } from '../support/people.ts'
import { useWorld } from '../support/world.ts'

const html = { accept: 'text/html', 'sec-fetch-mode': 'navigate' }

const lines = (count: number) => Array.from({ length: count }, (_, at) => `${at % 10}`)

describe('a page of long texts', () => {
  const { grove } = useWorld({})

  it.deep('has some lines of what differs, and says how many there are', async () => {
    const ann = await signUp(grove, 'Ann')
    await ann.patch(`/orgs/${ann.org}`, { published: true }).then(expecting(200))
    const node = await newNode(grove, ann)
    const names = Array.from({ length: 30 }, (_, at) => `${at}.md`)
    const commit = (change: string) => {
      const text = lines(100_000).with(500, change).join('\n')
      const files = Object.fromEntries(names.map((name) => [name, text]))
      node.git.point('main', node.git.commit({ files, parents: [node.git.head()] }))
    }
    commit('one')
    commit('two')
    const page = await readPage(client(grove), `${pageAt(node.org, node.id)}/commits/${node.git.head()}`, html)
    expect(page.status).to.equal(200)
    expect(page.body.match(/<h2>\d+\.md<\/h2>/g)).to.have.length(30)
    expect(page.body).to.include('99498 unchanged lines')
    expect(page.body.match(/class="row/g)?.length).to.be.within(500, 5_000)
  })

  it('is read a page long, with the way to the whole text', async () => {
    const bob = await signUp(grove, 'Bob')
    await bob.patch(`/orgs/${bob.org}`, { published: true }).then(expecting(200))
    const node = await newNode(grove, bob, { title: 'Long', text_content: '€'.repeat(1_048_577) })
    const page = await readPage(client(grove), pageAt(node.org, node.id), html)
    expect(/<pre class="long"[^>]*>(€*)<\/pre>/.exec(page.body)?.[1]).to.have.length(1_048_576)
    const whole = /href="([^"]*)">read the whole text</.exec(page.body)?.[1] ?? ''
    expect((await client(grove).get(whole)).headers['content-length']).to.equal(String(3 * 1_048_577))
  })

  it('leads to the editor only if that opens the text, and says why not', async () => {
    const cy = await signUp(grove, 'Cy')
    const long = await newNode(grove, cy, { title: 'Long', text_content: 'word '.repeat(52_429) })
    const at = pageAt(long.org, long.id)
    const page = (await readPage(cy, at, html)).body
    expect(page).to.include('This text has more than 262,144 characters').and.not.to.include(`/edit"`)
    const refused = await readPage(cy, `${at}/edit`, html)
    expect(refused.status).to.equal(403)
    expect(refused.body).to.include('This text has more than 262,144 characters, too many to edit here.')
    const binary = await newNode(grove, cy, { title: 'Latin' })
    const files = { 'content.md': Buffer.from([0x63, 0xe9]) }
    binary.git.point('main', binary.git.commit({ files, parents: [binary.git.head()] }))
    expect((await readPage(cy, `${pageAt(binary.org, binary.id)}/edit`, html)).body).to.include(
      'This text is not UTF-8.',
    )
  })

  it('folds 500 lines at most, and counts all', () => {
    const diff = diffWords(lines(2_000).join('\n'), lines(2_000).with(1_000, 'other').join('\n'))
    expect(diff?.rows).to.equal(500 + 4)
    const folds = diff?.parts.flatMap((part) => (part.kind === 'fold' ? [[part.rows.length, part.lines]] : []))
    expect(folds).to.deep.equal([
      [500, 999],
      [0, 998],
    ])
  })

  it('merges texts of any number of lines', () => {
    const start = `${lines(200_000).join('\n')}\n`
    expect(merge3(start, `before\n${start}`, `${start}after\n`)).to.equal(`before\n${start}after\n`)
  })

  it('reads no further once it has read 4 MiB', async () => {
    const asked: string[] = []
    const getFile = async ({ path }: { path: { path: string } }) => {
      asked.push(path.path)
      return { encoding: 'utf-8', content: 'a'.repeat(1_500_000) }
    }
    const modified = Array.from({ length: 100 }, (_, at) => ({ entity_key: `${at}` }))
    const changes = { added: [], removed: [], modified, base_commit_id: 'a', target_commit_id: 'b' }
    const found = await readFileChanges(
      { getFile } as unknown as Api, // it asks for nothing else
      { org_id: '', node_id: '' },
      changes as unknown as Changes, // of which it reads no more
    )
    expect(asked).to.deep.equal(['0', '1', '2'])
    expect(found.map(({ before }) => before)).to.deep.equal(Array(30).fill(undefined))
  })
})
