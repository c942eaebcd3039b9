/** What a repository can refuse or suffer, in Git's words; the HTTP layer knows the codes and nothing else of it. */

export type GitErrorCode =
  | 'ref_moved' // facts.current: the ref's oid now, or null
  | 'ref_name_taken' // `a` forbids `a/b`
  | 'ref_damaged' // an empty or malformed ref file
  | 'busy' // a lock was held by one owner for over a second
  | 'object_missing'
  | 'object_damaged'
  | 'repo_missing'
  | 'repo_exists'
  | 'merge_conflict' // facts.paths
  | 'path_conflict' // facts.path: a file stands where a directory must be, or the reverse
  | 'limit_exceeded'
  | 'not_offered' // a client of git asks for a part of its protocol that is not served; the message says which
  | 'malformed_request' // a client of git does not speak git's protocol; the message says where, in words for that client
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
export function isStorageFault(error: unknown): boolean {
  return isGitError(error, 'storage_full', 'storage_readonly', 'storage_error')
}

/**
 * The error as a storage fault where the file system says so (ENOSPC, EDQUOT, EROFS, EACCES, EPERM, EIO), as busy where too
 * many files are open (EMFILE, ENFILE), else as it was.
 */
export function asStorageFault(error: unknown): unknown {
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
