/** `grove doctor --second-reader`: isomorphic-git reads what gitstore/ reads. */

import { randomBytes } from 'node:crypto'
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import git from 'isomorphic-git'
import { listStoredRepositories } from '../../server/domain/indexing/stored-repositories.ts'
import { readTwice } from '../../server/domain/operator/second-reading.ts'
import type { Git } from '../support/git.ts'
import { useWorld } from '../support/world.ts'
import { cli } from './desk.ts'

/** Lies of isomorphic-git, by the type of the object, about what it parsed. */
const lies: Readonly<Record<string, readonly [type: string, lie: (object: Fields & Fields[]) => unknown]>> = {
  'an author': ['commit', (it) => ({ ...it, author: { name: 'Eve', email: '', timestamp: 0, timezoneOffset: 0 } })],
  'a message': ['commit', (it) => ({ ...it, message: 'Another' })],
  'the parents': ['commit', (it) => ({ ...it, parent: [it.tree] })],
  'a mode': ['tree', (it) => it.map((entry, at) => (at === 0 ? { ...entry, mode: '100755' } : entry))],
  'a file that is there': ['tree', (it) => it.slice(1)],
  'a file that is not there': ['tree', (it) => [...it, { ...it[0], path: 'other' }]],
  'the bytes of a file': ['blob', () => Buffer.from('lie')],
  'the target of a tag': ['tag', (it) => ({ ...it, type: 'tree' })],
}

describe('doctor with a second reader', () => {
  const { grove, ann } = useWorld({ ann: 'owner' }, { sweeps: false })

  it('counts what both read, and names a repository that only one can read', async () => {
    const node = await ann.node({ title: 'Sea', text_content: 'deep ice' })
    // An index as old tools write it, which isomorphic-git does not know.
    const folder = join(node.git.dir, 'objects/pack')
    const [pack = ''] = readdirSync(folder).filter((name) => name.endsWith('.pack'))
    for (const name of readdirSync(folder)) if (name !== pack) rmSync(join(folder, name))
    node.git.say('index-pack', '--index-version=1', join(folder, pack))
    const { code, stdout } = await cli(grove.dataDir, 'doctor', '--second-reader', '100')
    expect(code).to.equal(1)
    expect(stdout).to.match(/\nisomorphic-git: read \d+ objects of [2-9] repositories\n[1-9] problems? found:\n/)
    const lines = stdout.split(' found:\n')[1]?.trimEnd().split('\n') ?? []
    const said = '[0-9a-f]{40}: reading succeeds, but with isomorphic-git it fails \\(.+\\)'
    for (const line of lines) expect(line).to.match(new RegExp(`^  ${node.org}/${node.id}\\.git: ${said}$`))
    rmSync(node.git.dir, { recursive: true })
    expect((await cli(grove.dataDir, 'doctor', '--second-reader', '0')).code).to.equal(2)
  })

  it('agrees about names, modes, encodings, tags, links and deltas that clients push', async () => {
    const { git: repo } = await ann.node({ title: 'Odd' })
    oddities(repo)
    repo.say('repack', '-a', '-d', '-f', '-q', '--depth=50', '--window=50')
    repo.say('pack-refs', '--all')
    repo.point('loose', repo.head())
    expect(repo.say('verify-pack', '-v', ...packsOf(repo))).to.match(/chain length = [2-9]/)
    const { findings, objects } = await readAll()
    expect(findings.filter(({ path }) => path.includes('org.git'))).to.deep.equal([])
    expect(findings.map(({ kind, reason }) => [kind, reason.replace(/[0-9a-f]{40}/, 'ID')])).to.deep.equal([
      ['note', 'isomorphic-git does not parse ID (The filepath "back\\slash" contains unsafe character sequences)'],
    ])
    expect(objects).to.be.at.least(repo.lines('rev-list', '--all', '--objects').length)
  })

  it('names the object, the part and both values of each lie of a reader', async () => {
    const liedTo: Git[] = []
    const truths = []
    for (const [what, [type, lie]] of Object.entries(lies)) {
      const { git: repo } = await ann.node({ title: what, text_content: 'true' })
      repo.say('tag', '-a', '-m', 'first', 'v1', 'main')
      liedTo.push(repo)
      truths.push(lying(repo, type, lie))
    }
    const { findings } = await readAll()
    for (const truth of truths.reverse()) truth()
    const parts = liedTo.map(({ dir }) => {
      const own = findings.filter(({ path, kind }) => kind === 'fault' && dir.endsWith(path))
      return own.map(({ reason }) =>
        /^\w+ [0-9a-f]{40}: (.+?) is .+, but isomorphic-git reads ./.exec(reason)?.[1]?.replace(/^entry .*/, 'entry'),
      )
    })
    expect(Object.fromEntries(Object.keys(lies).map((what, at) => [what, parts[at]]))).to.deep.equal({
      'an author': ['author'],
      'a message': ['message'],
      'the parents': ['parents'],
      'a mode': ['entry'],
      'a file that is there': ['entry'],
      'a file that is not there': ['entry'],
      'the bytes of a file': ['content'],
      'the target of a tag': ['type'],
    })
    expect((await readAll()).findings.filter(({ kind }) => kind === 'fault')).to.deep.equal([])
  })

  async function readAll() {
    return readTwice(
      grove.dataDir,
      await listStoredRepositories(grove.dataDir),
      100,
      new AbortController().signal,
      () => {},
    )
  }
})

function packsOf({ dir }: Git): string[] {
  const folder = join(dir, 'objects/pack')
  return readdirSync(folder)
    .filter((name) => name.endsWith('.idx'))
    .map((name) => join(folder, name))
}

/** Commits, trees and refs as other programs write them. */
function oddities(repo: Git): void {
  const blob = (content: string | Buffer) => hashed(repo, 'blob', content)
  const lines = Array.from({ length: 400 }, (_, n) => `line ${n} ${randomBytes(9).toString('hex')}`)
  for (let n = 0; n < 6; n++) {
    lines.splice(n * 30, 1, `changed ${n}`)
    repo.point('main', repo.commit({ files: { 'long.md': lines.join('\n') }, parents: [repo.head()] }))
  }
  const head = repo.head()
  const entry = (mode: string, name: string | Buffer, oid: string) =>
    Buffer.concat([Buffer.from(`${mode} `), Buffer.from(name), Buffer.of(0), Buffer.from(oid, 'hex')])
  const inner = hashed(repo, 'tree', entry('100644', 'a', blob('a')))
  const tree = hashed(
    repo,
    'tree',
    Buffer.concat([
      entry('100644', Buffer.from([0x62, 0xff, 0x63]), blob('not UTF-8')),
      entry('120000', 'link', blob('a/b')),
      entry('160000', 'module', head),
      entry('100755', 'run', blob('#!/bin/sh\n')),
      entry('40000', 'ünter', inner),
    ]),
  )
  const unsafe = hashed(repo, 'tree', entry('100644', 'back\\slash', blob('b')))
  const person = (name: string) => `${name} <a@b.example> 1700000000 -0930`
  const commit = (of: string, message: string | Buffer, headers = '', name = 'Änn "A" O\'Neil') =>
    hashed(
      repo,
      'commit',
      Buffer.concat([
        Buffer.from(
          `tree ${of}\nparent ${head}\nparent ${repo.head('main')}\nauthor ${person(name)}\ncommitter ${person('C')}\n${headers}\n`,
        ),
        Buffer.from(message),
      ]),
    )
  const commits = [
    commit(tree, '\n\nwith\r\nCRs\n\n\n'),
    commit(tree, Buffer.from([0x67, 0xfc, 0x6e]), 'encoding ISO-8859-1\n'),
    commit(
      tree,
      `long ${'x'.repeat(70_000)}`,
      'gpgsig -----BEGIN PGP SIGNATURE-----\n \n abc\n -----END PGP SIGNATURE-----\n',
    ),
    commit(tree, '', '', 'N'.repeat(1_500)),
    commit(unsafe, 'unsafe'),
  ]
  for (const [n, oid] of commits.entries()) repo.point(`odd/${n}`, oid)
  repo.say('tag', '-a', '-m', 'one', 'one', commits[0] ?? '')
  repo.say('tag', '-a', '-m', 'a tag of a tag', 'two', 'one')
  repo.say('tag', 'of-a-tree', tree)
}

function hashed(repo: Git, type: string, content: string | Buffer): string {
  return repo.run(['hash-object', '-t', type, '-w', '--stdin', '--literally'], { input: content }).toString().trim()
}

type Fields = Readonly<Record<string, unknown>>

/** Replaces what isomorphic-git says about one object of the type. Returns what ends that. */
function lying(repo: Git, type: string, lie: (object: Fields & Fields[]) => unknown): () => void {
  const { readObject } = git
  let oid: string | undefined
  Object.assign(git, {
    readObject: async (args: Parameters<typeof readObject>[0]) => {
      const read = await readObject(args)
      if (args.gitdir === repo.dir && read.type === type) oid ??= args.oid
      return args.gitdir === repo.dir && args.oid === oid
        ? { ...read, object: lie(read.object as unknown as Fields & Fields[]) } // the lie knows its form by `type`
        : read
    },
  })
  return () => void Object.assign(git, { readObject })
}
