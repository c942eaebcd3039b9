/** Starts upload-pack and receive-pack with the service's settings. They override the repository's configuration. */

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { GitError } from '../errors.ts'
import * as limits from '../limits.ts'
import { type GitProcess, longestGitMs, spawnGit } from '../native.ts'
import { latestTime } from '../objects/commits.ts'
import type { Repo } from '../repo.ts'

export type GitService = 'git-upload-pack' | 'git-receive-pack'

/** The largest request whose pack is unpacked. A large file that is loose would be compressed again for each clone. */
const unpackedBytes = 1024 ** 2

/** The hooks, bundled into dist/ or run from here. */
const hooks = ['./hooks', '../gitstore/transfer/hooks']
  .map((path) => fileURLToPath(new URL(path, import.meta.url)))
  .find((path) => existsSync(join(path, 'proc-receive')))

export interface ServiceOptions {
  readonly service: GitService
  /** The refs that Git shows and serves: these, and all refs below them. */
  readonly shown: readonly string[]
  /** The version of the protocol. */
  readonly version: 0 | 1 | 2
  /** The size of the request. Undefined counts as large. */
  readonly bodyBytes: number | undefined
  /** True if Git advertises its refs instead of answering a request. */
  readonly advertises: boolean
  /** Only for a push that is received. */
  readonly gate?: PushGate
  /** The bytes that the push may add. Undefined: only Git's limit holds. */
  readonly bytesLeft?: number | undefined
}

/** Closes a repository to pushes whose objects are still in quarantine. Both are absolute paths. */
export interface PushGate {
  /** The folder that exists from before the objects leave quarantine. Its parent exists. */
  readonly mark: string
  /** If this file exists, the push is refused. */
  readonly closedBy: string
}

/** @throws GitError busy, native_failed: the hooks are missing */
export function startService(repo: Repo, options: ServiceOptions): GitProcess {
  const { service, shown, version, bodyBytes, advertises, gate, bytesLeft } = options
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
        GROVE_LARGEST_BLOB: String(limits.pushedFileBytes),
        GROVE_LARGEST_OTHER: String(limits.pushedObjectBytes),
        GROVE_LATEST_TIME: String(latestTime),
        ...(bytesLeft !== undefined && { GROVE_BYTES_LEFT: String(bytesLeft) }),
        ...(gate && { GROVE_PUSH_MARK: gate.mark, GROVE_CLOSED_BY: gate.closedBy }),
      },
      // The path is relative, so that Git's messages to a client do not contain the path of the data folder.
      cwd: repo.dir,
      pipes: service === 'git-receive-pack' ? 2 : 0,
      priority: 'transfer',
      // Before that, the exchange ends Git and completes the client's answer.
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
  // A clone has one thread and a bounded window, because several run at once.
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
    `receive.maxInputSize=${limits.packBytes}`,
    `receive.unpackLimit=${bodyBytes !== undefined && bodyBytes <= unpackedBytes ? 100 : 1}`,
    // Seconds between messages that keep the connection alive while objects and refs are checked.
    'receive.keepAlive=2',
    'receive.advertisePushOptions=false',
    'receive.advertiseAtomic=true',
    'receive.updateServerInfo=false',
    'receive.shallowUpdate=false',
    // A larger file streams to the disk, instead of through Git's memory.
    'core.bigFileThreshold=4m',
    'pack.threads=1',
    'core.deltaBaseCacheLimit=32m',
  ]
}
