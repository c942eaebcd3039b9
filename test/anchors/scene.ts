/** Bare repositories whose commits have anchors. */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ValidationError } from '../../server/base/errors.ts'
import { placeAnchors } from '../../server/domain/anchors/place-anchors.ts'
import type { Anchor } from '../../server/domain/format/anchors.ts'
import { type Git, gitIn } from '../support/git.ts'

let folder: string
let repositories = 0

export function useFolder(): void {
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'grove-anchors-'))
  })
  after(() => rmSync(folder, { recursive: true, force: true }))
}

export function newRepository(): Git {
  const git = gitIn({ dataDir: folder }, 'org', `node-${repositories++}`)
  git.run(['init', '-q', '--bare', git.dir])
  return git
}

/** Places anchors on `head`, and on `base` as Git has its ancestors. */
export function placeIn(git: Git, head: string, anchors: readonly Anchor[], base: string | null = null) {
  const isInBase = async (commit: string) => base !== null && git.lines('rev-list', base).includes(commit)
  return placeAnchors({ dir: git.dir }, { head, base, isInBase }, anchors)
}

/** The only problem of a refusal. */
export async function problemOf(promise: Promise<unknown>): Promise<{ loc: string; msg: string }> {
  try {
    await promise
  } catch (error) {
    if (!(error instanceof ValidationError)) throw error
    const [problem, ...others] = error.problems
    if (problem && others.length === 0) return { loc: problem.loc.join('.'), msg: problem.msg }
  }
  throw new Error('Not refused with one problem')
}
