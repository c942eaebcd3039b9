/** Questions that a git of their own answers: their bounds, and how what git writes is parsed. */

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import { askGit, type GitReading } from '../../gitstore/git-questions.ts'
import { type DiffLimits, PatchReader } from '../../gitstore/objects/patches.ts'
import { emptyTree } from '../../gitstore/objects/trees.ts'
import { newNode, type TestNode } from '../support/node.ts'
import { useWorld } from '../support/world.ts'

const most: DiffLimits = { files: 100, linesOfFile: 100, lines: 1_000, bytesOfFile: 10_000, bytes: 100_000 }

describe('a question to git', () => {
  const { grove, ann } = useWorld({ ann: 'owner' })
  let node: TestNode
  /** Git's output for a commit with files of all kinds. */
  let written: Buffer

  before(async () => {
    node = await newNode(grove, ann)
    const { git } = node
    const files = {
      'a.txt': 'one\ntwo\nthree\n',
      moved: 'some\nlines\nof\ntext\n',
      link: { mode: '120000', content: 'a.txt' },
      image: Buffer.of(0, 1),
    }
    const base = git.commit({ files })
    const next = {
      'a.txt': 'one\n2\nthree',
      moved: null,
      'größe\n"x"': 'some\nlines\nof\nTEXT\n',
      link: 'file\n',
      image: Buffer.of(0),
    }
    const head = git.commit({ files: next, parents: [base] })
    written = git.run(['diff-tree', '-r', '-z', '--raw', '--no-abbrev', '-M', '-p', base, head])
  })

  const ask = (args: readonly string[], reading: Partial<GitReading> = {}, dir = node.git.dir) =>
    askGit({ dir }, args, { timeoutMs: 60_000, maxOutputBytes: 1_000_000, ...reading }).then(
      String,
      (error: unknown) => error,
    )

  it('has limits of time and output, and ends with who asked', async () => {
    const forever = ['-c', 'alias.forever=!sleep 600', 'forever']
    expect(await ask(forever, { timeoutMs: 100 })).to.include({ code: 'limit_exceeded' })
    expect(await ask(['rev-list', 'main'], { maxOutputBytes: 10 })).to.include({ code: 'limit_exceeded' })
    const gone = new AbortController()
    const left = ask(forever, { signal: gone.signal })
    gone.abort(new Error('gone'))
    expect(await left).to.equal(gone.signal.reason)
  })

  it('tells a damaged repository from one that is not there', async () => {
    expect(await ask(['diff-tree', '-r', emptyTree, 'f'.repeat(40)])).to.include({ code: 'object_damaged' })
    const folder = await mkdtemp(join(tmpdir(), 'grove-test-none-'))
    expect(await ask(['rev-list', 'main'], {}, join(folder, 'none.git'))).to.include({ code: 'repo_missing' })
    await rm(folder, { recursive: true })
  })

  it('ends git as soon as nothing more is wanted, without an error', async () => {
    const taken: Buffer[] = []
    const take = (chunk: Buffer) => taken.push(chunk) < 1
    expect(await ask(['-c', 'alias.yes=!yes', 'yes'], { take, maxOutputBytes: 1e9 })).to.equal('')
    expect(taken).to.have.length(1)
  })

  const read = (pieces: readonly Buffer[], limits = most) => {
    const reader = new PatchReader(limits)
    const wanted = pieces.every((piece) => reader.take(piece))
    if (wanted) reader.end()
    return { files: reader.files, total: reader.total, wanted }
  }

  it('is parsed alike for any pieces of its answer', () => {
    const whole = read([written])
    expect(whole.files.map(({ path, status, kind }) => [path, status, kind])).to.deep.equal([
      ['a.txt', 'M', 'text'],
      ['größe\n"x"', 'R', 'text'],
      ['image', 'M', 'binary'],
      ['link', 'T', 'text'],
    ])
    fc.assert(
      fc.property(fc.array(fc.nat(written.length), { maxLength: 12 }), fc.nat(20), (cuts, lines) => {
        const places = [0, ...cuts.sort((a, b) => a - b), written.length]
        const pieces = places.slice(1).map((end, n) => written.subarray(places[n], end))
        expect(read(pieces)).to.deep.equal(whole)
        const limits = { ...most, lines }
        expect(read(pieces, limits)).to.deep.equal(read([written], limits))
      }),
    )
  })

  it('is a fault if its answer is cut off, or of another form', () => {
    const text = written.toString('latin1')
    const broken = [
      written.subarray(0, written.length - 2),
      written.subarray(0, text.indexOf('diff --git')),
      Buffer.from(text.replace(':100644', ':100644x'), 'latin1'),
      Buffer.from(text.replace('\n-two', '\n?two'), 'latin1'),
      Buffer.from(text.replace('\n-two', '\n-two\n-two'), 'latin1'),
      Buffer.from(text.replace('index ', 'appendix '), 'latin1'),
      Buffer.concat([written, Buffer.from('diff --git a/more b/more\n')]),
    ]
    for (const [n, bytes] of broken.entries())
      expect(() => read([bytes]), String(n))
        .to.throw()
        .with.property('code', 'native_failed')
  })
})
