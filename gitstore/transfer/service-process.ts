/** Starts upload-pack and receive-pack with the service's settings, whatever the repository's configuration is. */

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { GitError } from '../errors.ts'
import { type GitProcess, longestGitMs, spawnGit } from '../native.ts'
import { latestTime } from '../objects/commits.ts'
import type { Repo } from '../repo.ts'

export type GitService = 'git-upload-pack' | 'git-receive-pack'

/** Bytes of a pack as it is sent. */
const packLimitBytes = 2 * 1024 ** 3
/** Bytes of one object, inflated: a file; a tree, a commit or a tag. */
const blobLimitBytes = 100 * 1024 ** 2
const otherLimitBytes = 8 * 1024 ** 2
/** A pack in a larger request is kept as it came: a large file that lies loose is compressed once more for each clone. */
const unpackedBytes = 1024 ** 2

/** Bundled into dist/, or run from here. */
const hooks = ['./hooks', '../gitstore/transfer/hooks']
  .map((path) => fileURLToPath(new URL(path, import.meta.url)))
  .find((path) => existsSync(join(path, 'proc-receive')))

export interface ServiceOptions {
  readonly service: GitService
  /** The refs that git shows and serves: these, and all below them. */
  readonly shown: readonly string[]
  /** Of the protocol. */
  readonly version: 0 | 1 | 2
  /** Of the request; undefined: large. */
  readonly bodyBytes: number | undefined
  /** Whether git advertises its refs instead of answering a request. */
  readonly advertises: boolean
}

/** @throws GitError busy, native_failed: the hooks are missing */
export function startService(repo: Repo, options: ServiceOptions): GitProcess {
  const { service, shown, version, bodyBytes, advertises } = options
  const settings = [
    'safe.directory=*',
    'transfer.hideRefs=refs/',
    ...shown.map((ref) => `transfer.hideRefs=!${ref}`),
    ...(service === 'git-upload-pack' ? uploadSettings : receiveSettings(bodyBytes)),
  ]
  const flags = advertises ? ['--http-backend-info-refs'] : []
  return spawnGit(
    repo,
    [...settings.flatMap((setting) => ['-c', setting]), service.slice('git-'.length), '--stateless-rpc', ...flags, '.'],
    {
      env: {
        GIT_DIR: '.',
        GIT_PROTOCOL: `version=${version}`,
        GROVE_LARGEST_BLOB: String(blobLimitBytes),
        GROVE_LARGEST_OTHER: String(otherLimitBytes),
        GROVE_LATEST_TIME: String(latestTime),
      },
      // Relative, so that git's messages to a client do not contain the path of the data folder.
      cwd: repo.dir,
      pipes: service === 'git-receive-pack' ? 2 : 0,
      priority: 'transfer',
      // The exchange ends git before that, with the client's answer.
      timeoutMs: longestGitMs + 60_000,
    },
  )
}

const uploadSettings = [
  'uploadpack.allowFilter=true',
  'uploadpackfilter.allow=false',
  'uploadpackfilter.blob:none.allow=true',
  'uploadpackfilter.blob:limit.allow=true',
  'uploadpackfilter.tree.allow=true',
  'uploadpackfilter.tree.maxDepth=1',
  // The request reader does not know these, so no setting of the repository may offer them.
  'uploadpack.allowRefInWant=false',
  'uploadpack.allowSidebandAll=false',
  // One thread and a bounded window for a clone: several run beside one another.
  'pack.threads=1',
  'pack.windowMemory=64m',
  'pack.deltaCacheSize=32m',
  'core.deltaBaseCacheLimit=32m',
]

function receiveSettings(bodyBytes: number | undefined): string[] {
  if (hooks === undefined) throw new GitError('native_failed', 'gitstore/transfer/hooks is missing')
  return [
    `core.hooksPath=${hooks}`,
    'receive.procReceiveRefs=refs',
    'receive.fsckObjects=true',
    `receive.maxInputSize=${packLimitBytes}`,
    `receive.unpackLimit=${bodyBytes !== undefined && bodyBytes <= unpackedBytes ? 100 : 1}`,
    // Seconds between messages that keep the connection alive while objects are checked and refs judged.
    'receive.keepAlive=2',
    'receive.advertisePushOptions=false',
    'receive.advertiseAtomic=true',
    'receive.updateServerInfo=false',
    'receive.shallowUpdate=false',
    // A file above this streams to the disk instead of through git's memory.
    'core.bigFileThreshold=4m',
    'pack.threads=1',
    'core.deltaBaseCacheLimit=32m',
  ]
}
