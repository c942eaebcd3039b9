/** The errors of a repository. Other layers know the codes and facts. */

export type GitErrorCode =
  | 'ref_moved' // facts.current: the ref's oid now, or null
  | 'ref_name_taken' // `a` forbids `a/b`
  | 'ref_damaged' // an empty or malformed ref file
  | 'busy' // one owner held a lock for over a second; or files, processes or memory are short
  | 'object_missing'
  | 'object_damaged'
  | 'repo_missing'
  | 'repo_exists'
  | 'merge_conflict' // facts.paths
  | 'path_conflict' // facts.path: a file stands where a directory must be, or the reverse
  | 'limit_exceeded'
  | 'not_offered' // a git client asks for a part of the protocol that is not served; the message names it
  | 'malformed_request' // a git client violates the protocol; the message is for that client
  | 'native_failed' // a git process ended with an error; its text is for the log only
  | 'storage_full'
  | 'storage_readonly'
  | 'storage_error'

export class GitError extends Error {
  readonly code: GitErrorCode
  readonly facts: Readonly<Record<string, unknown>>

  constructor(code: GitErrorCode, message: string, facts: Record<string, unknown> = {}, options?: ErrorOptions) {
    super(message, options)
    this.name = 'GitError'
    this.code = code
    this.facts = facts
  }
}

export function isGitError(error: unknown, ...codes: readonly GitErrorCode[]): error is GitError {
  return error instanceof GitError && codes.includes(error.code)
}

/** Whether the repository does not hold what its refs promise. */
export function isDamage(error: unknown): error is GitError {
  return isGitError(error, 'ref_damaged', 'object_missing', 'object_damaged')
}

/** Whether the file system failed; every other repository on it may fail the same way. */
export function isStorageError(error: unknown): boolean {
  return isGitError(error, 'storage_full', 'storage_readonly', 'storage_error')
}

/**
 * Maps errors of the file system to storage faults (ENOSPC, EDQUOT, EROFS, EACCES, EPERM, EIO) and to busy (EMFILE, ENFILE).
 * Returns any other error unchanged.
 */
export function asStorageError(error: unknown): unknown {
  const code = codeOf(error)
  if (code === 'ENOSPC' || code === 'EDQUOT')
    return new GitError('storage_full', 'The disk is full', {}, { cause: error })
  if (code === 'EROFS') return new GitError('storage_readonly', 'The file system is read-only', {}, { cause: error })
  if (code === 'EACCES' || code === 'EPERM') {
    return new GitError('storage_error', 'The service may not read or write there', {}, { cause: error })
  }
  if (code === 'EMFILE' || code === 'ENFILE')
    return new GitError('busy', 'Too many files are open', {}, { cause: error })
  if (code === 'EIO') return new GitError('storage_error', 'The file system failed', {}, { cause: error })
  return error
}

/** The system's code of an error, `ENOENT` and the like; undefined where it has none. */
export function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined
}
