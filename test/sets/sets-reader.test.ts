/** The second reader of change sets, on repositories that were made by hand: each thing that must hold, broken once. */

import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect } from 'chai'
import { type Git, gitIn } from '../support/git.ts'
import { readSets } from '../support/sets-reader.ts'

// biome-ignore lint/suspicious/noExplicitAny: the JSON of a ledger
type Json = any // each use says what it expects

const org = '0a000000-0000-4000-8000-000000000000'
const idOf = (number: number) => `0a000000-0000-4000-8000-00000000000${number}`
const [whales, krill, old, shrimp, squid] = [1, 2, 3, 4, 5].map(idOf) as [string, string, string, string, string]
const [merged, open, closed] = [7, 8, 9].map(idOf) as [string, string, string]

type Commits = Readonly<Record<'first' | 'second' | 'empty' | 'last' | 'restored', string>>

/** A merged set with an item of each act, an open one, and a closed one. */
function drawn(commits: Commits) {
  const { first, second, empty, last } = commits
  const pull = (number: number, change_set: string, status: string, source_commit: string, source_branch = 'set') => {
    return { number, change_set, status, source_commit, source_branch, target_branch: 'main' }
  }
  const set = (id: string, number: number, status: string, items: Json[]): Json => {
    return { id, number, status, title: `Set ${number}`, at: '2026-01-01T00:00:00Z', is_draft: false, items }
  }
  const pages: Json = {
    [whales]: {
      branches: { main: second, next: last },
      pulls: { 1: pull(1, merged, 'merged', second), 2: pull(2, open, 'open', last, 'next') },
    },
    [krill]: { branches: { main: first }, pulls: { 1: pull(1, merged, 'merged', first) } },
    [old]: {
      branches: { main: empty },
      node: { state: 'deleted', proposed_in: merged },
      pulls: { 1: pull(1, merged, 'merged', empty) },
    },
    [shrimp]: {
      branches: { set: first },
      node: { state: 'proposed', proposed_in: open },
      pulls: { 1: pull(1, open, 'open', first) },
    },
    [squid]: { branches: { main: first, set: second }, pulls: { 1: pull(1, closed, 'closed', second) } },
  }
  const sets: Json = {
    'pulls/0/0/1.json': set(merged, 1, 'merged', [
      { node_id: whales, number: 1, act: 'change', base: first, head: second },
      { node_id: krill, number: 1, act: 'create', base: null, head: first },
      { node_id: old, number: 1, act: 'delete', base: first, head: empty },
    ]),
    'pulls/0/0/2.json': set(open, 2, 'open', [
      { node_id: whales, number: 2, act: 'delete' },
      { node_id: shrimp, number: 1, act: 'create' },
    ]),
    'pulls/0/0/3.json': set(closed, 3, 'closed', [{ node_id: squid, number: 1, act: 'change' }]),
    [`ids/0a/${merged}`]: 1,
    [`ids/0a/${open}`]: 2,
    [`ids/0a/${closed}`]: 3,
    last: 3,
  }
  const itemsOf = (number: number): Json[] => sets[`pulls/0/0/${number}.json`].items
  return { pages, sets, itemsOf }
}

type Drawn = ReturnType<typeof drawn>

describe('the second reader of change sets', () => {
  let dataDir: string
  /** A repository with all commits, which others are copies of. */
  let template: Git
  let commits: Commits
  before(async () => {
    template = gitIn({ dataDir: await mkdtemp(join(tmpdir(), 'grove-sets-')) }, org, 'template')
    mkdirSync(dirname(template.dir), { recursive: true })
    template.run(['init', '-q', '--bare', '--template=', template.dir])
    const commit = (text: string | null, ...parents: string[]) =>
      template.commit({ files: { 'content.md': text }, parents })
    const first = commit('First')
    const second = commit('Second', first)
    const empty = commit(null, first)
    commits = { first, second, empty, last: commit(null, second), restored: commit('First', empty) }
  })
  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'grove-sets-'))
  })
  afterEach(() => rmSync(dataDir, { recursive: true, force: true }))
  after(() => rmSync(dirname(dirname(template.dir)), { recursive: true, force: true }))

  function repository(folder: string, name: string): Git {
    const git = gitIn({ dataDir: join(dataDir, folder) }, org, name)
    cpSync(template.dir, git.dir, { recursive: true })
    return git
  }

  function ledger(git: Git, ref: string, files: Json): void {
    const texts = Object.entries(files).map(([path, value]) => [path, `${JSON.stringify(value)}\n`])
    mkdirSync(join(git.dir, dirname(ref)), { recursive: true })
    writeFileSync(join(git.dir, ref), `${git.commit({ files: Object.fromEntries(texts) })}\n`)
  }

  /** Writes the organisation after a change, and reads it. */
  function read(change: (drawing: Drawn) => void = () => {}, options = {}) {
    const own = repository('', 'org')
    const drawing = drawn(commits)
    change(drawing)
    ledger(own, 'refs/grove/sets', drawing.sets)
    for (const [id, { branches, node, pulls, isTrashed }] of Object.entries<Json>(drawing.pages)) {
      const git = isTrashed ? repository('trash', `${id}.1700000000000`) : repository('', id)
      for (const [name, commit] of Object.entries<string>(branches)) git.point(name, commit)
      const files = Object.entries(pulls).map(([number, pull]) => [`pulls/0/0/${number}.json`, pull])
      ledger(git, 'refs/grove/ledger', {
        'node.json': { id, ...node },
        last: files.length,
        ...Object.fromEntries(files),
      })
    }
    return readSets({ dataDir }, org, options)
  }

  it('finds nothing if all holds, and says what became of each item', () => {
    const { sets, broken, orphans } = read()
    expect(broken).to.deep.equal([])
    expect(orphans).to.deep.equal([])
    expect(sets.map(({ number, status }) => [number, status])).to.deep.equal([
      [1, 'merged'],
      [2, 'open'],
      [3, 'closed'],
    ])
    expect(sets.map(({ items }) => items.map(({ act, status, page }) => [act, status, page]))).to.deep.equal([
      [
        ['change', 'merged', 'there'],
        ['create', 'merged', 'there'],
        ['delete', 'merged', 'deleted'],
      ],
      [
        ['delete', 'open', 'there'],
        ['create', 'open', 'proposed'],
      ],
      [['change', 'closed', 'there']],
    ])
  })

  it('finds nothing in an organisation without sets', () => {
    repository('', 'org')
    expect(readSets({ dataDir }, org)).to.deep.equal({ sets: [], broken: [], orphans: [] })
  })

  /** A change of what was drawn, and what it breaks. */
  type Case = readonly [change: (drawing: Drawn) => void, ...broken: string[]]

  const holds: Record<string, Case[0]> = {
    'a deleted page that is in the trash': ({ pages }) => Object.assign(pages[old], { isTrashed: true }),
    'a deleted page that was purged': ({ pages }) => delete pages[old],
    'a deleted page that was restored': ({ pages }) =>
      Object.assign(pages[old], { node: {}, branches: { main: commits.restored } }),
    'a page of a closed set that is in the trash': ({ pages }) => Object.assign(pages[squid], { isTrashed: true }),
    'an item of a merged set that was closed before': ({ pages, itemsOf }) => {
      pages[whales].pulls[1].status = 'closed'
      itemsOf(1)[0] = { node_id: whales, number: 1, act: 'change' }
    },
  }
  for (const [title, change] of Object.entries(holds))
    it(`allows ${title}`, () => {
      expect(read(change).broken).to.deep.equal([])
    })

  it('lists a proposed page that no set lists, and nothing else about it', () => {
    const { broken, orphans } = read(({ itemsOf }) => itemsOf(2).pop())
    expect(broken).to.deep.equal([])
    expect(orphans).to.deep.equal([shrimp])
  })

  it('allows a change that was merged outside of its set if that may be, and finds it otherwise', () => {
    const change: Case[0] = ({ pages }) => {
      pages[squid].branches.main = commits.second
      pages[squid].pulls[1].status = 'merged'
    }
    expect(read(change, { mayEndOutside: true }).broken).to.deep.equal([])
    expect(readSets({ dataDir }, org).broken).to.deep.equal([
      `set 3, change of ${squid}: it is merged, and the set has not merged it`,
    ])
  })

  const breaks: Record<string, Case> = {
    'a number without a set': [
      ({ sets }) => Object.assign(sets, { last: 4 }),
      'pulls/0/0/4.json is missing; the last set is 4',
    ],
    'a set after the last number': [
      ({ sets }) => Object.assign(sets, { last: 2 }),
      'pulls/0/0/3.json is there; the last set is 2',
    ],
    'a set in the file of another number': [
      ({ sets }) => {
        sets['pulls/0/0/3.json'].number = 4
        sets[`ids/0a/${closed}`] = 4
      },
      'pulls/0/0/3.json has another number',
    ],
    'an id that leads to another set': [
      ({ sets }) => Object.assign(sets, { [`ids/0a/${closed}`]: 1 }),
      `ids/0a/${closed} is not 3`,
    ],
    'an id that leads nowhere': [({ sets }) => delete sets[`ids/0a/${closed}`], `ids/0a/${closed} is not 3`],
    'an id without a set': [
      ({ sets }) => Object.assign(sets, { [`ids/0a/${whales}`]: 3 }),
      `ids/0a/${whales} is of no set`,
    ],
    'a pull request that its set does not list': [
      ({ pages }) =>
        Object.assign(pages[squid].pulls, { 2: { ...pages[squid].pulls[1], number: 2, change_set: merged } }),
      `pull request 2 of ${squid} is in the set ${merged}, which does not list it`,
    ],
    'a listed pull request that does not say so': [
      ({ pages }) => delete pages[squid].pulls[1].change_set,
      `set 3, change of ${squid}: pull request 1 is in the set undefined`,
    ],
    'a listed pull request that does not exist': [
      ({ pages }) => delete pages[squid].pulls[1],
      `set 3, change of ${squid}: pull request 1 is in the set undefined`,
    ],
    'a page that is in two open sets': [
      ({ pages, sets, itemsOf }) => {
        sets['pulls/0/0/3.json'].status = 'open'
        pages[whales].pulls[3] = { ...pages[whales].pulls[2], number: 3, change_set: closed }
        itemsOf(3)[0] = { node_id: whales, number: 3, act: 'delete' }
        delete pages[squid]
      },
      `pull requests 2,3 of ${whales} are open in sets`,
    ],
    'a page that is listed twice': [
      ({ itemsOf }) => itemsOf(3).push(itemsOf(3)[0]),
      ...[1, 2].map(() => `set 3, change of ${squid}: the page is listed twice`),
    ],
    'a new page without a repository': [
      ({ pages }) => delete pages[shrimp],
      `set 2, create of ${shrimp}: the page is missing`,
    ],
    'a new page that is in the trash': [
      ({ pages }) => Object.assign(pages[shrimp], { isTrashed: true }),
      `set 2, create of ${shrimp}: the page is in the trash`,
    ],
    'an open item of a closed set': [
      ({ pages }) => Object.assign(pages[squid].pulls[1], { status: 'open' }),
      `set 3, change of ${squid}: it is open, and the set is closed`,
    ],
    'a merge that has not moved a main': [
      ({ pages }) => Object.assign(pages[whales].branches, { main: commits.first }),
      `set 1, change of ${whales}: main does not contain its head`,
    ],
    'a merge that has not reached a ledger': [
      ({ pages }) =>
        Object.assign(pages[whales].pulls[1], { status: 'open', source_branch: 'gone', change_set: merged }),
      `pull requests 1,2 of ${whales} are open in sets`,
      `set 1, change of ${whales}: it is open, and the set is merged`,
    ],
    'a merge of mains only': [
      ({ pages }) => Object.assign(pages[whales].branches, { main: commits.last }),
      `set 2, delete of ${whales}: it is open, and main contains its head`,
    ],
    'a merge that has not reached the set': [
      ({ pages }) =>
        Object.assign(pages[shrimp], {
          node: {},
          branches: { main: commits.first },
          pulls: { 1: { ...pages[shrimp].pulls[1], status: 'merged' } },
        }),
      `set 2, create of ${shrimp}: it is merged, and the set has not merged it`,
    ],
    'a merge of another head than the ledger has': [
      ({ pages }) => Object.assign(pages[whales].pulls[1], { source_commit: 'another' }),
      `set 1, change of ${whales}: its pull request is of another`,
    ],
    'a merge onto a commit that main does not have': [
      ({ itemsOf }) => Object.assign(itemsOf(1)[0], { base: 'another' }),
      `set 1, change of ${whales}: its base is another`,
    ],
    'a new page that was merged onto a commit': [
      ({ itemsOf }) => Object.assign(itemsOf(1)[1], { base: 'another' }),
      `set 1, create of ${krill}: its base is another`,
    ],
    'a merged new page that is still proposed': [
      ({ pages }) => Object.assign(pages[krill], { node: { state: 'proposed', proposed_in: merged } }),
      `${krill} should be there, and is proposed`,
    ],
    'a page of a merged deletion that is still there': [
      ({ pages }) => Object.assign(pages[old], { node: {} }),
      `${old} should be deleted, and is there`,
    ],
    'a page that no set has deleted': [
      ({ pages }) => Object.assign(pages[squid], { node: { state: 'deleted', proposed_in: closed } }),
      `${squid} should be there, and is deleted`,
    ],
    'a page that another set than its own has deleted': [
      ({ pages }) => Object.assign(pages[old].node, { proposed_in: open }),
      `${old} is deleted by ${open}, not by set 1`,
    ],
    'a new page that is there before its merge': [
      ({ pages }) => Object.assign(pages[shrimp], { node: {} }),
      `${shrimp} should be proposed, and is there`,
      `set 2, create of ${shrimp}: the page is there`,
    ],
    'a proposed page with a main': [
      ({ pages }) => Object.assign(pages[shrimp].branches, { main: commits.second, set: commits.first }),
      `${shrimp} is proposed, and has a main`,
      `set 2, create of ${shrimp}: it is open, and main contains its head`,
    ],
  }
  for (const [title, [change, ...expected]] of Object.entries(breaks))
    it(`finds ${title}`, () => {
      expect(read(change).broken).to.deep.equal(expected)
    })
})
