/**
 * Checks names from clients: branches, paths and users. REST and push share these checks. Each returns undefined, or
 * a sentence for the caller.
 */

import * as limits from './limits.ts'

/** A name that `branchNameProblem` accepts. */
export type BranchName = string & { readonly __branch: never }

export function parseBranchName(name: string): BranchName | undefined {
  return branchNameProblem(name) === undefined ? (name as BranchName) : undefined // only this function makes them
}

/**
 * Says why a branch cannot have a name. Applies Git's check-ref-format. Also refuses names that Git tools confuse
 * with options, ids or other refs (CVE-2022-2417).
 */
export function branchNameProblem(name: string): string | undefined {
  if (name === '') return 'A branch name cannot be empty'
  if (!isWellFormed(name)) return 'A branch name must be valid Unicode'
  if (Buffer.byteLength(name) > limits.branchNameBytes)
    return `A branch name cannot be longer than ${limits.branchNameBytes} bytes`
  if (/[\p{Cc} ~^:?*[\\]/u.test(name))
    return 'A branch name cannot contain spaces, control characters or any of ~ ^ : ? * [ \\'
  if (name.includes('..')) return "A branch name cannot contain '..'"
  if (name.includes('@{') || name === '@') return "A branch name cannot be '@' or contain '@{'"
  if (name.startsWith('-')) return "A branch name cannot begin with '-'"
  if (name.endsWith('.')) return "A branch name cannot end with '.'"
  if (name.startsWith('refs/')) return "A branch name cannot begin with 'refs/'"
  if (name === 'HEAD') return "A branch cannot be called 'HEAD'"
  if (/^([0-9a-f]{40}|[0-9a-f]{64})$/i.test(name)) return 'A branch name cannot look like an object id'
  for (const part of name.split('/')) {
    if (part === '') return "A branch name cannot begin or end with '/' or contain '//'"
    if (part.startsWith('.')) return "No part of a branch name can begin with '.'"
    if (part.endsWith('.lock')) return "No part of a branch name can end with '.lock'"
  }
  return undefined
}

const maxNameBytes = 255
const maxPathDepth = 64

/**
 * Says why a path cannot be in a tree, for REST and push. Refuses paths that `git fsck --strict` refuses or that a
 * client cannot check out. Also refuses control characters, backslashes, and paths that are too long or too deep.
 */
export function treePathProblem(path: string): string | undefined {
  if (!isWellFormed(path)) return 'A path must be valid Unicode'
  if (Buffer.byteLength(path) > limits.pathBytes) return `A path cannot be longer than ${limits.pathBytes} bytes`
  const names = path.split('/')
  if (names.length > maxPathDepth) return `A path cannot have more than ${maxPathDepth} parts`
  for (const name of names) {
    if (name === '') return "A path cannot be empty, begin or end with '/' or contain '//'"
    if (Buffer.byteLength(name) > maxNameBytes) return `A path cannot have a part of more than ${maxNameBytes} bytes`
    if (/\p{Cc}/u.test(name)) return 'A path cannot contain control characters'
    if (name.includes('\\')) return 'A path cannot contain backslashes'
    const plain = name.replace(ignoredByHfs, '')
    if (plain === '.' || plain === '..') return "A path cannot have '.' or '..' as a part"
    if (dotGit.test(plain))
      return "A path cannot have '.git' as a part, in any spelling that a file system treats as '.git'"
  }
  return undefined
}

/**
 * Says why REST cannot write a path. Applies `treePathProblem`, and refuses `.gitmodules` and `.gitattributes`. Fsck
 * checks their content, and only a push runs fsck.
 */
export function pathProblem(path: string): string | undefined {
  const problem = treePathProblem(path)
  if (problem !== undefined) return problem
  for (const name of path.split('/')) {
    if (readByGit.test(name.replace(ignoredByHfs, '')))
      return "'.gitmodules' and '.gitattributes' can only be pushed with git"
  }
  return undefined
}

/** Characters that HFS+ ignores in names. Source: next_hfs_char, utf8.c. */
const ignoredByHfs = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g

/** The end of a name that NTFS ignores: spaces, dots, a stream. */
const ntfsEnd = '[. ]*(:.*)?$'

/**
 * Matches `.git` and its short names on NTFS. Source: is_ntfs_dotgit (path.c), and isomorphic-git's parser, which
 * refuses the whole tree for git~1 to git~9.
 */
const dotGit = new RegExp(String.raw`^(\.git|\.?git~[1-9])${ntfsEnd}`, 'iu')

/** Source: is_ntfs_dot_generic (path.c): the name, its short names, and its short names by hash. */
const readByGit = new RegExp(
  `^(${ntfsNames('gitmodules', 'gi7eba')}|${ntfsNames('gitattributes', 'gi7d29')})${ntfsEnd}`,
  'iu',
)

function ntfsNames(name: string, hash: string): string {
  const hashed = Array.from({ length: 7 }, (_, kept) => `${hash.slice(0, kept)}~[1-9][0-9]{${6 - kept}}`)
  return [String.raw`\.${name}`, `${name.slice(0, 6)}~[1-4]`, ...hashed].join('|')
}

const maxIdentityBytes = 255

/** Says why Git cannot record this author. */
export function personProblem({ name, email }: { readonly name: string; readonly email: string }): string | undefined {
  for (const [what, text] of [
    ['name', name],
    ['e-mail address', email],
  ] as const) {
    if (!isWellFormed(text)) return `An author's ${what} must be valid Unicode`
    if (Buffer.byteLength(text) > maxIdentityBytes)
      return `An author's ${what} cannot be longer than ${maxIdentityBytes} bytes`
    if (/[\p{Cc}<>]/u.test(text)) return `An author's ${what} cannot contain '<', '>' or control characters`
    if (withoutCrud(text) === '') return `An author's ${what} cannot be empty`
  }
  return undefined
}

/** The name as `git commit` would record it, or 'unknown' if nothing of it remains. */
export function cleanPersonName(name: string): string {
  return withoutCrud(cleanIdentity(name)) || 'unknown'
}

/** Removes characters that would break a commit's header. Source: strbuf_addstr_without_crud, ident.c. */
export function cleanIdentity(text: string): string {
  return text.replace(/[\0\r\n<>]/g, '')
}

/** Removes the characters that Git drops at both ends. Source: crud, ident.c. */
export function withoutCrud(text: string): string {
  return text.replace(/^[\0- .,:;<>"\\']+|[\0- .,:;<>"\\']+$/g, '')
}

/**
 * Finds two names of one folder that differ only in case or Unicode form. Many file systems treat them as the same
 * name. One of the two is in `fresh`. A folder may be checked in parts, with the same `taken`.
 */
export function findCaseCollision(
  names: readonly string[],
  fresh: ReadonlySet<string>,
  taken: Map<string, string> = new Map(),
): readonly [string, string] | undefined {
  for (const name of names) {
    // Upper case first: ß and ss, σ and ς fold together only that way.
    const folded = name.normalize('NFC').toUpperCase().toLowerCase().normalize('NFC')
    const other = taken.get(folded)
    const counts = fresh.has(name) || (other !== undefined && fresh.has(other))
    if (other !== undefined && other !== name && counts) return [other, name]
    taken.set(folded, name)
  }
  return undefined
}

/** True if the text has no lone surrogates. */
function isWellFormed(text: string): boolean {
  return !/\p{Cs}/u.test(text)
}
