/** Random histories with everything that files can be: for tests that compare answers with git's. */

import fc from 'fast-check'
import type { Git } from '../support/git.ts'
import type { TestNode } from '../support/node.ts'

const paths = [
  'a.txt',
  'b.txt',
  'docs/a.txt',
  'docs/deep/er.md',
  'docs',
  'größe 🐋.md',
  'a "quoted"\tname',
  'two\nlines',
  '-x',
  ':(glob)*',
  '*',
  'back\\slash',
]

/** A file after a commit. */
type Content =
  | { readonly kind: 'text'; readonly lines: readonly string[]; readonly end: '\n' | '\r\n' | '' }
  | { readonly kind: 'bytes'; readonly bytes: readonly number[] }
  | { readonly kind: 'link'; readonly to: string }
  | { readonly kind: 'module'; readonly n: number }
  | { readonly kind: 'gone' }

interface Edit {
  readonly path: string
  readonly content: Content
  readonly isExecutable: boolean
}

interface Step {
  /** Steps back, from this commit; none: a root. */
  readonly parents: readonly number[]
  readonly time: number
  readonly author: string
  readonly edits: readonly Edit[]
  /** One file gets another name. */
  readonly rename: readonly [string, string] | null
}

const anyLine = fc.constantFrom(
  '',
  'one',
  'two',
  'three',
  'four',
  '+five',
  '-six',
  '\\ seven',
  'eight\r',
  '@@ -1 +1 @@',
)
const anyText = fc.record({
  kind: fc.constant('text' as const),
  lines: fc.array(anyLine, { maxLength: 14 }),
  end: fc.constantFrom('\n' as const, '\n' as const, '\r\n' as const, '' as const),
})
const anyContent: fc.Arbitrary<Content> = fc.oneof(
  { weight: 8, arbitrary: anyText },
  fc.record({ kind: fc.constant('bytes' as const), bytes: fc.array(fc.nat(255), { maxLength: 6 }) }),
  fc.record({ kind: fc.constant('link' as const), to: fc.constantFrom('a.txt', '/etc/passwd') }),
  fc.record({ kind: fc.constant('module' as const), n: fc.nat(3) }),
  { weight: 2, arbitrary: fc.constant({ kind: 'gone' as const }) },
)
export const anyPath = fc.constantFrom(...paths)

/** `clock`: how far the clocks of committers may go back. */
export function anyHistory(maxLength: number, clock: number): fc.Arbitrary<readonly Step[]> {
  const step = fc.record({
    parents: fc.oneof(
      { weight: 4, arbitrary: fc.constant([1]) },
      fc.array(fc.integer({ min: 1, max: 4 }), { maxLength: 3 }),
    ),
    time: fc.nat(clock),
    author: fc.constantFrom('Ann <ann@example.org>', 'Bob <bob@example.org>', 'Zoë <zoe@x.org>'),
    edits: fc.array(fc.record({ path: anyPath, content: anyContent, isExecutable: fc.boolean() }), { maxLength: 4 }),
    rename: fc.option(fc.tuple(anyPath, anyPath), { freq: 4 }),
  })
  return fc.array(step, { minLength: 2, maxLength })
}

/** Writes the commits; `refs/heads/<branch>` is the last one. Their ids, the oldest first. */
export function importHistory({ git }: TestNode, steps: readonly Step[], branch: string): string[] {
  const files: Map<string, Edit>[] = []
  const input: (string | Buffer)[] = []
  for (const [n, { parents, time, author, edits, rename }] of steps.entries()) {
    const from = [...new Set(parents.map((back) => n - back).filter((at) => at >= 0))]
    const [first, ...others] = from
    const now = new Map(first === undefined ? [] : files[first])
    for (const edit of edits) write(now, edit)
    const moved = rename && now.get(rename[0])
    if (moved && rename) {
      now.delete(rename[0])
      write(now, { ...moved, path: rename[1] })
    }
    files.push(now)
    input.push(`reset refs/import\ncommit refs/import\nmark :${n + 1}\n`)
    input.push(
      `author ${author} ${1e9 + n} +0000\ncommitter ${author} ${1e9 + 100 * n - time} +0000\n`,
      data(`Step ${n}\n`),
    )
    if (first !== undefined) input.push(`from :${first + 1}\n`)
    for (const other of others) input.push(`merge :${other + 1}\n`)
    input.push('deleteall\n')
    for (const edit of now.values()) input.push(...fileCommand(edit))
  }
  input.push(...steps.map((_, n) => `get-mark :${n + 1}\n`))
  const bytes = Buffer.concat(input.map((part) => Buffer.from(part)))
  const said = git.run(['-c', 'fastimport.unpackLimit=1000', 'fast-import', '--quiet', '--force'], { input: bytes })
  const oids = said.toString('latin1').trim().split('\n')
  git.say('update-ref', '-d', 'refs/import')
  git.point(branch, oids.at(-1) ?? '')
  return oids
}

/** Applies an edit. It removes a file that is in the way of a folder, and the reverse. */
function write(files: Map<string, Edit>, edit: Edit): void {
  const { path, content } = edit
  if (content.kind === 'gone') {
    files.delete(path)
    return
  }
  for (const other of files.keys())
    if (other.startsWith(`${path}/`) || path.startsWith(`${other}/`)) files.delete(other)
  files.set(path, edit)
}

function fileCommand({ path, content, isExecutable }: Edit): (string | Buffer)[] {
  const name = `"${path.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')}"`
  if (content.kind === 'gone') return []
  if (content.kind === 'module') return [`M 160000 ${String(content.n).repeat(40).replaceAll('0', 'a')} ${name}\n`]
  if (content.kind === 'link') return [`M 120000 inline ${name}\n`, data(content.to)]
  return [`M ${isExecutable ? '100755' : '100644'} inline ${name}\n`, data(bytesOf(content))]
}

function bytesOf(content: Extract<Content, { kind: 'text' | 'bytes' }>): Buffer {
  if (content.kind === 'bytes') return Buffer.from(content.bytes)
  const { lines, end } = content
  return Buffer.from(lines.join(end === '\r\n' ? '\r\n' : '\n') + (lines.length > 0 ? end : ''))
}

function data(content: string | Buffer): Buffer {
  const bytes = Buffer.from(content)
  return Buffer.concat([Buffer.from(`data ${bytes.length}\n`), bytes, Buffer.from('\n')])
}

/** The tree of `base`, or of nothing, with the patch applied by `git apply`. */
export function applied(git: Git, base: string | null, patch: Buffer, index: string): string {
  const env = { GIT_INDEX_FILE: index }
  git.run(['read-tree', ...(base === null ? ['--empty'] : [base])], { env })
  if (patch.length > 0) git.run(['apply', '--cached', '--whitespace=nowarn'], { env, input: patch })
  return git.run(['write-tree', '--missing-ok'], { env }).toString().trim()
}
