/** Formats errors for the operator's terminal. An expected error is one line; others have a stack. */
import { codeOf, GitError } from '../../gitstore/errors.ts'
import { SqliteNotInstalledError } from '../../index/sqlite/better-sqlite3.ts'
import { DatabaseError } from '../../index/sqlite/database.ts'
import { ConfigError } from '../base/config.ts'
import { openFilesLimit } from '../base/open-files.ts'
import { LeaseError } from '../domain/cells/lease.ts'
import { ModelNotInstalledError } from '../domain/embeddings/local-packages.ts'
import { printable } from '../domain/format/text-rules.ts'
import { RemoteError } from '../domain/net/remote-grove.ts'

/** Files that the service opens before its first request. */
const filesNeeded = 33

export function explainFault(error: unknown): string {
  if (!(error instanceof Error)) return printable(String(error))
  if (isShortOfFiles(error)) return filesSentence()
  if (codeOf(error) === 'EADDRINUSE') return `The port is in use: ${printable(error.message)}`
  const isExpected =
    error instanceof ConfigError ||
    error instanceof GitError ||
    error instanceof DatabaseError ||
    error instanceof LeaseError ||
    error instanceof ModelNotInstalledError ||
    error instanceof RemoteError ||
    error instanceof SqliteNotInstalledError ||
    (codeOf(error) !== undefined && 'syscall' in error)
  return isExpected ? printable(error.message) : stackOf(error)
}

/** Returns the message on one line, as it may hold foreign text. Each frame has its own line. */
function stackOf({ message, stack = message }: Error): string {
  const [head = '', ...frames] = stack.split(/\n(?= {4}at )/)
  return [head, ...frames].map(printable).join('\n')
}

function isShortOfFiles(error: Error): boolean {
  const code = codeOf(error)
  if (code === 'EMFILE' || code === 'ENFILE') return true
  return error.cause instanceof Error && isShortOfFiles(error.cause)
}

function filesSentence(): string {
  const limit = openFilesLimit()
  const has = limit === undefined ? '' : `: this process may open ${limit} (ulimit -n)`
  return `Too many files are open${has}; a start needs ${filesNeeded}, a service under load 4096`
}
