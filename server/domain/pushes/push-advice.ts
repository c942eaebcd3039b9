/** Advice for the terminal after a push. */
import { readRef } from '../../../gitstore/refs/refs.ts'
import type { Repo } from '../../../gitstore/repo.ts'
import type { RefCommand } from '../../../gitstore/transfer/proc-receive.ts'
import { branchName, branchRefs, main } from '../layout.ts'

/** Lines for the terminal. `refused`: by ref name. @throws GitError repo_missing, ref_damaged */
export function describePush(
  repo: Repo,
  commands: readonly RefCommand[],
  refused: ReadonlyMap<string, string>,
): readonly string[] {
  const branches = commands
    .filter(({ ref, to }) => to !== null && ref.startsWith(branchRefs) && !refused.has(ref))
    .map(({ ref }) => branchName(ref))
  if (branches.length === 0 || readRef(repo, main) !== null) return []
  const [first = ''] = ['master', 'trunk'].filter((name) => branches.includes(name)).concat(branches)
  // The line may be pasted into a shell.
  const name = /^[\w./-]+$/.test(first) ? first : '<branch>'
  return [
    'This node has no branch main yet: its clones check out nothing, and graph and search do not see it.',
    `Push one: git push origin ${name}:main`,
  ]
}
