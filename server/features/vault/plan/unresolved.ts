/** Links without a target in the folder, and the reasons. */
import { posix } from 'node:path'
import { decoded, namesOf } from '../../../markdown/link-resolver.ts'
import type { Link } from '../../../markdown/markdown-facts.ts'

export type UnresolvedKind = 'missing' | 'outside' | 'ambiguous' | 'site' | 'hugo'

export interface Unresolved {
  /** The path of the file that has the link. */
  readonly path: string
  /** The target as written, shortened. */
  readonly target: string
  readonly kind: UnresolvedKind
}

/** The words for each kind, after a number. */
export const unresolvedKinds: Readonly<Record<UnresolvedKind, string>> = {
  missing: 'to a missing file',
  outside: 'outside the folder',
  ambiguous: 'with an ambiguous name',
  site: 'from the root of a site',
  hugo: 'with a Hugo reference',
}

/** Largest part of a link that is shown, in UTF-16 units. */
const linkAtMost = 200

export function shortened(target: string): string {
  return target.length > linkAtMost ? `${target.slice(0, linkAtMost)}…` : target
}

/** Returns a function that classifies unresolved links. */
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
 * Detects the base path of a site in its unresolved root-relative links.
 *
 * It is the prefix without which most of them would resolve.
 *
 * @param resolves true if a path from the root has a target
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

/** Largest number of folders in a base. */
const baseParts = 3
const targetsAtMost = 10_000
/** Fewer links prove nothing. */
const leastLinks = 5
