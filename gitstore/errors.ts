/** Errors of a repository. Other layers know the codes and the facts. */

export type GitErrorCode =
  | 'ref_moved' // facts.current: the ref's oid now, or null
  | 'ref_name_taken' // `a` forbids `a/b`
  | 'ref_damaged' // an empty or malformed ref file
  | 'busy' // one owner held a lock for over a second, or files, processes or memory are short
  | 'object_missing'
  | 'object_damaged'
  | 'repo_missing'
  | 'repo_exists'
  | 'merge_conflict' // facts.paths
  | 'path_conflict' // facts.path: a file is in the place of a directory, or the reverse; a rebase changes no such path
  | 'limit_exceeded'
  | 'not_offered' // a Git client uses a part of the protocol that is not served; the message names that part
  | 'malformed_request' // a Git client violates the protocol; the message is for that client
  | 'native_failed' // a Git process ended with an error; its text is for the log only
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

/** True if an object is missing, or an object or a ref is damaged. */
export function isDamage(error: unknown): error is GitError {
  return isGitError(error, 'ref_damaged', 'object_missing', 'object_damaged')
}

/** True if the file system failed. Every other repository on it may fail the same way. */
export function isStorageError(error: unknown): boolean {
  return isGitError(error, 'storage_full', 'storage_readonly', 'storage_error')
}

/**
 * Maps errors of the file system to GitErrors. Storage faults are ENOSPC, EDQUOT, EROFS, EACCES, EPERM and EIO. EMFILE
 * and ENFILE become busy. Returns any other error unchanged.
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

/** The system's code of an error, such as `ENOENT`, or undefined if it has none. */
export function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined
}
