/** Links that lead to no node and no file of the folder, and why. */
import { posix } from 'node:path'
import { decoded, namesOf } from '../../markdown/link-resolver.ts'
import type { Link } from '../../markdown/markdown-facts.ts'

export type UnresolvedKind = 'missing' | 'outside' | 'ambiguous' | 'site' | 'hugo'

export interface Unresolved {
  /** Of the file that has the link. */
  readonly path: string
  /** As written, shortened. */
  readonly target: string
  readonly kind: UnresolvedKind
}

/** What each kind is called, of one and of several. */
export const unresolvedKinds: Readonly<Record<UnresolvedKind, string>> = {
  missing: 'to no file',
  outside: 'out of the folder',
  ambiguous: 'to a name that several files have',
  site: 'to a path of a site, from its root',
  hugo: "by Hugo's references",
}

/** Characters of a link that are shown. */
const linkAtMost = 200

export function shortened(target: string): string {
  return target.length > linkAtMost ? `${target.slice(0, linkAtMost)}…` : target
}

/** Tells why a link that does not resolve does not. */
export function kindsOf(files: readonly string[]): (from: string, link: Link) => UnresolvedKind {
  const named = namesOf(files)
  return (from, { target, form }) => {
    // In Hugo's own documentation, `[term](g)` is looked up in a glossary.
    if (form === 'path' && (target === 'g' || /^\{\{[<%]/.test(target))) return 'hugo'
    const path = form === 'path' ? decoded(target).replaceAll('\\', '/') : target
    if (path.startsWith('/')) return form === 'path' ? 'site' : 'missing'
    if (posix.join(posix.dirname(from), path).startsWith('../')) return 'outside'
    return form === 'path' && !/^\./.test(path) && named(path).length > 1 ? 'ambiguous' : 'missing'
  }
}

/**
 * What begins the paths of a site, found in its links from the root that do not resolve: without it most of them would.
 *
 * @param resolves whether a path from the root leads to something
 */
export function findBase(targets: readonly string[], resolves: (path: string) => boolean): string | undefined {
  const counts = new Map<string, number>()
  for (const target of targets.slice(0, targetsAtMost)) {
    const parts = target.split('/')
    for (let length = 2; length <= Math.min(parts.length - 1, baseParts + 1); length++) {
      const base = `${parts.slice(0, length).join('/')}/`
      if (resolves(target.slice(base.length - 1))) counts.set(base, (counts.get(base) ?? 0) + 1)
    }
  }
  const [best] = [...counts].sort(([a, x], [b, y]) => y - x || a.length - b.length)
  const isMost = best !== undefined && best[1] >= leastLinks && best[1] * 2 > Math.min(targets.length, targetsAtMost)
  return isMost ? best[0] : undefined
}

/** Folders of which a base may consist. */
const baseParts = 3
const targetsAtMost = 10_000
/** Fewer prove nothing. */
const leastLinks = 5
