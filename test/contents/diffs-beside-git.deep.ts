/** Patches and hunks of random histories: git applies the patch, and the hunks say the same. */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import fc from 'fast-check'
import type { TestNode } from '../support/node.ts'
import { runs } from '../support/seed.ts'
import { anyHistory, applied, importHistory } from './random-history.ts'
import { aNode, ann, grove, leavesCleanRepositories, useScene } from './scene.ts'

describe('contents', () => {
  useScene()

  let folder: string
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'grove-test-apply-'))
  })
  after(() => rmSync(folder, { recursive: true }))

  const bytesOf = async (path: string): Promise<Buffer> => {
    const headers = { authorization: `Bearer ${ann.session.accessToken}`, accept: 'text/x-diff' }
    const answer = await fetch(grove.url + path, { headers })
    expect([answer.status, answer.headers.get('content-type')], path).to.deep.equal([200, 'text/x-diff; charset=utf-8'])
    return Buffer.from(await answer.arrayBuffer())
  }

  /** The tree that the patch makes; where a link moves and a folder takes its place, git refuses its own patch, too. */
  function appliedBy(git: TestNode['git'], base: string | null, target: string, patch: Buffer): string {
    const index = join(folder, 'index')
    try {
      return applied(git, base, patch, index)
    } catch (error) {
      const own = git.run(['diff-tree', '-p', '-M', '--binary', '--full-index', base ?? emptyTree, target])
      const beyond = /beyond a symbolic link/
      if (!beyond.test(String(error))) throw error
      expect(() => applied(git, base, own, index)).to.throw(beyond)
      return git.say('rev-parse', `${target}^{tree}`)
    }
  }

  async function expectPatch({ git, at }: TestNode, base: string | null, target: string, address: string) {
    const patch = await bytesOf(address)
    expect(appliedBy(git, base, target, patch), address).to.equal(git.say('rev-parse', `${target}^{tree}`))
    const { status, body } = await ann.get(address)
    expect(status, address).to.equal(200)
    const diff = body.text ?? body
    expect(diff).to.include({ base_commit_id: base, target_commit_id: target, truncated: false })
    expect(linesOf(diff).join('\n'), `${at} ${address}`).to.equal(linesOfPatch(patch).join('\n'))
    expectEntities(git.run(['diff-tree', '-r', '-z', '--no-renames', base ?? emptyTree, target]).toString(), diff)
  }

  describe('the patch of a random history', () => {
    it('applied to the base gives the head, and the hunks say the same', async () => {
      await fc.assert(
        fc.asyncProperty(anyHistory(7, 0), fc.nat(), async (steps, pick) => {
          const node = await aNode()
          const oids = importHistory(node, steps, 'dev')
          for (const oid of node.git.log('dev')) {
            const [parent = null] = node.git.say('log', '-1', '--format=%P', oid).split(' ').filter(Boolean)
            await expectPatch(node, parent, oid, `${node.at}/commits/${oid}/diff`)
          }
          const seen = node.git.log('dev')
          const other = seen[pick % seen.length] ?? ''
          const head = oids.at(-1) ?? ''
          await expectPatch(node, other, head, `${node.at}/compare?base=${other}&head=dev&text=true`)
          await expectPatch(node, head, other, `${node.at}/compare?base=dev&head=${other}&text=true&direct=true`)
        }),
        { numRuns: runs(12), endOnFailure: true },
      )
    })
  })

  describe('all of this', leavesCleanRepositories)
})

const emptyTree = '4b825dc642cb6eb9a060e54bf8d69288fbee4904'

interface Side {
  readonly entity_key: string
  readonly change: string
  readonly old_entity_key?: string
  readonly old_object_id: string | null
  readonly new_object_id: string | null
  readonly old_mode: string | null
  readonly new_mode: string | null
}

/** A renamed file is one that goes and one that comes. */
function expectEntities(byGit: string, { entities }: { readonly entities: readonly Side[] }): void {
  const fields = byGit.split('\0').slice(0, -1)
  const changed = fields.flatMap((record, n) => (n % 2 === 0 ? [[...record.slice(1).split(' '), fields[n + 1]]] : []))
  const none = ['000000', '0'.repeat(40)]
  const told = entities.flatMap((one) => {
    const before = [one.old_mode ?? none[0], one.old_object_id ?? none[1]]
    const now = [one.new_mode ?? none[0], one.new_object_id ?? none[1]]
    const record = (a: typeof before, b: typeof now, status: string, path?: string) => [
      a[0],
      b[0],
      a[1],
      b[1],
      status,
      path,
    ]
    if (one.change === 'renamed')
      return [record(before, none, 'D', one.old_entity_key), record(none, now, 'A', one.entity_key)]
    const type = (mode: string | undefined) => mode?.slice(0, 3)
    const status = { added: 'A', removed: 'D' }[one.change] ?? (type(before[0]) === type(now[0]) ? 'M' : 'T')
    return [record(before, now, status, one.entity_key)]
  })
  const sorted = (rows: readonly unknown[][]) => rows.map((row) => JSON.stringify(row)).sort()
  expect(sorted(told)).to.deep.equal(sorted(changed))
}

interface Line {
  readonly kind: 'context' | 'added' | 'removed'
  readonly old_line?: number
  readonly new_line?: number
  readonly text: string
  readonly no_newline?: true
}

interface Diff {
  readonly entities: readonly {
    readonly hunks?: readonly {
      readonly old_start: number
      readonly old_lines: number
      readonly new_start: number
      readonly new_lines: number
      readonly section: string
      readonly lines: readonly Line[]
    }[]
  }[]
}

const signs = { context: ' ', added: '+', removed: '-' }

/** Each line of each hunk with its numbers. */
function linesOf({ entities }: Diff): string[] {
  return entities.flatMap(({ hunks = [] }) =>
    hunks.flatMap(({ section, lines, ...numbers }) => [
      `${numbers.old_start},${numbers.old_lines} ${numbers.new_start},${numbers.new_lines} ${section}`,
      ...lines.map(
        ({ kind, old_line = 0, new_line = 0, text, no_newline }) =>
          `${old_line} ${new_line} ${signs[kind]}${text}${no_newline ? ' EOF' : ''}`,
      ),
    ]),
  )
}

/** The same of a patch. A file's header has no line that looks like the head of a hunk. */
function linesOfPatch(patch: Buffer): string[] {
  const told: string[] = []
  let [oldLine, newLine, oldLeft, newLeft] = [0, 0, 0, 0]
  for (const line of patch.toString('utf8').split('\n')) {
    const head = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@(?: (.*))?$/s.exec(line)
    if (line.startsWith('\\')) told.push(`${told.pop()} EOF`)
    else if (oldLeft + newLeft > 0) {
      const [isOld, isNew] = [line[0] !== '+', line[0] !== '-']
      told.push(`${isOld ? oldLine++ : 0} ${isNew ? newLine++ : 0} ${line}`)
      oldLeft -= isOld ? 1 : 0
      newLeft -= isNew ? 1 : 0
    } else if (head) {
      const [, oldStart = '', oldLines = '1', newStart = '', newLines = '1', section = ''] = head
      told.push(`${oldStart},${oldLines} ${newStart},${newLines} ${section}`)
      ;[oldLine, oldLeft, newLine, newLeft] = [oldStart, oldLines, newStart, newLines].map(Number) as [
        number,
        number,
        number,
        number,
      ]
    }
  }
  return told
}
