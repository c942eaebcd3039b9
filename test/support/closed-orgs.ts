/** Closes organisations by hand, as a newer version does for one that lacks its features. */

import { indexOrg } from '../../server/domain/indexing/index-node.ts'
import { gitIn } from './git.ts'
import type { Grove } from './grove.ts'

type OrgFile = Record<string, unknown>

/** Commits org.json as another program does, and indexes it. */
async function write({ dataDir, deps }: Grove, org: string, change: (file: OrgFile) => unknown): Promise<void> {
  const git = gitIn({ dataDir }, org, 'org')
  const file: OrgFile = JSON.parse(git.say('show', 'main:org.json'))
  change(file)
  const parents = [git.say('rev-parse', 'main')]
  const files = { 'org.json': JSON.stringify(file) }
  git.say('update-ref', 'refs/heads/main', git.commit({ files, parents, message: 'by hand' }))
  await indexOrg(deps, org)
}

/** Closes an organisation for versions that do not know the words. */
export const closeOrg = (grove: Grove, org: string, requires: unknown) =>
  write(grove, org, (file) => Object.assign(file, { requires }))

export const openOrg = (grove: Grove, org: string) => write(grove, org, (file) => delete file.requires)
