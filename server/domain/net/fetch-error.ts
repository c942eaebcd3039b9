/** Why a fetch has no answer. */

/** Codes for programs; the message is for people. */
export type FetchErrorCode =
  /** The URL, or an IP address of its host, is not one to fetch from. */
  | 'refused_address'
  /** The host name has no IP address, or was not resolved in time. */
  | 'dns'
  | 'connect_timeout'
  | 'timeout'
  | 'tls'
  /** The host refused or broke the connection, or its answer is not HTTP. */
  | 'connection'
  | 'too_large'
  /** The caller gave up. */
  | 'aborted'

export class FetchError extends Error {
  readonly code: FetchErrorCode
  /** The status, if the fetch failed after it had arrived. */
  readonly status: number | undefined

  constructor(
    code: FetchErrorCode,
    message: string,
    { status, cause }: { status?: number | undefined; cause?: unknown } = {},
  ) {
    super(message, cause === undefined ? {} : { cause })
    this.name = 'FetchError'
    this.code = code
    this.status = status
  }
}
