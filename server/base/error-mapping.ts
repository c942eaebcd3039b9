/** Maps faults of repositories and databases to answers, in one table for REST and pushes. */
import { asStorageError, GitError, type GitErrorCode } from '../../gitstore/errors.ts'
import { DatabaseError } from '../../index/sqlite/database.ts'
import { AppError, invalid, ValidationError } from './errors.ts'

type Answer = AppError | ValidationError

interface Meaning {
  /** Undefined: an internal fault, 500. */
  readonly answer: (error: GitError) => Answer | undefined
  /** The line in git's report for a refused ref. Undefined: the service failed. */
  readonly pushed?: string
  /** Set if a push that fails with it is logged as an error. */
  readonly isLogged?: true
}

/** A fault can occur after the ref has moved and before the move is durable. */
const look = 'fetch before you push again'

const damaged = () => new AppError('repo_damaged', 'This repository is damaged')

const meanings: Readonly<Record<GitErrorCode, Meaning>> = {
  ref_moved: {
    answer: ({ facts }) => new AppError('head_moved', 'The branch has moved', { current_head: facts.current }),
  },
  ref_name_taken: {
    answer: () => new AppError('branch_name_taken', 'A branch with a conflicting name exists'),
    pushed: 'a ref with a conflicting name exists',
  },
  ref_damaged: { answer: damaged, pushed: 'this repository is damaged', isLogged: true },
  busy: {
    answer: () => new AppError('busy', 'Another write is in progress; try again in a moment'),
    pushed: 'another write is in progress; push again',
  },
  object_missing: { answer: damaged, pushed: 'an object is missing', isLogged: true },
  object_damaged: { answer: damaged, pushed: 'an object is damaged', isLogged: true },
  repo_missing: {
    answer: () => new AppError('node_not_found', 'Node not found'),
    pushed: `the repository was just deleted, or its organisation moved; ${look}`,
  },
  repo_exists: { answer: () => new AppError('node_exists', 'There is a node with this id') },
  merge_conflict: {
    answer: ({ facts }) => new AppError('merge_conflict', 'The branches conflict', { paths: facts.paths }),
  },
  path_conflict: {
    answer: ({ facts }) => invalid(['body'], 'A path would be both a file and a directory', facts.path),
  },
  limit_exceeded: {
    answer: () => new AppError('too_large', 'This is too large for the service to read'),
    pushed: 'it is too large for the service to read',
  },
  malformed_request: { answer: ({ message }) => new AppError('bad_request', message) },
  not_offered: { answer: ({ message }) => new AppError('bad_request', message) },
  native_failed: { answer: () => undefined },
  storage_full: {
    answer: () => new AppError('storage_full', 'The disk is full'),
    pushed: `the disk is full; ${look}`,
    isLogged: true,
  },
  storage_readonly: {
    answer: () => new AppError('storage_readonly', 'The storage is read-only'),
    pushed: `the storage is read-only; ${look}`,
    isLogged: true,
  },
  storage_error: {
    answer: () => new AppError('storage_error', 'The storage failed'),
    pushed: `the storage failed; ${look}`,
    isLogged: true,
  },
}

/** Returns the response of REST. Undefined: an internal fault. */
export function answerOf(error: unknown): Answer | undefined {
  if (error instanceof AppError || error instanceof ValidationError) return error
  if (error instanceof DatabaseError) {
    const { code, message } = error
    return new AppError(code === 'damaged' || code === 'too_new' ? 'storage_error' : code, message)
  }
  const fault = asStorageError(error)
  return fault instanceof GitError ? meanings[fault.code].answer(fault) : undefined
}

export interface PushAnswer {
  readonly reason: string
  /** The response that REST would send. */
  readonly answer: Answer | undefined
  readonly isLogged: boolean
}

/** Returns the line in a push's report for a refused ref. */
export function pushAnswerOf(error: unknown): PushAnswer {
  if (error instanceof AppError || error instanceof ValidationError)
    return { reason: error.message, answer: error, isLogged: false }
  const meaning = error instanceof GitError ? meanings[error.code] : undefined
  if (meaning?.pushed === undefined)
    return { reason: `the service failed; ${look}`, answer: answerOf(error), isLogged: true }
  return { reason: meaning.pushed, answer: answerOf(error), isLogged: meaning.isLogged === true }
}
