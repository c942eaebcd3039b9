/** Errors of OAuth, which programs and pages show in different ways. */

/** The codes of RFC 6749 §4.1.2.1 and §5.2, RFC 7591 §3.2.2 and RFC 8707 §2. */
export type OAuthErrorCode =
  | 'invalid_request'
  | 'invalid_client'
  | 'invalid_grant'
  | 'invalid_scope'
  | 'invalid_target'
  | 'unsupported_grant_type'
  | 'invalid_redirect_uri'
  | 'invalid_client_metadata'
  | 'temporarily_unavailable'

/** A program has sent something that OAuth does not allow. `message` is a sentence for its developer. */
export class OAuthError extends Error {
  readonly code: OAuthErrorCode

  constructor(code: OAuthErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'OAuthError'
    this.code = code
  }
}

/** A request for consent that may come from anywhere. The page offers no link, because no program is known. */
export class UnknownProgramError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'UnknownProgramError'
  }
}

type ReturnedCode = OAuthErrorCode | 'unsupported_response_type' | 'access_denied'

/** A request that is not valid, from a known program. The page offers a link back to it, with the code, or moves on. */
export class ReturnedError extends Error {
  readonly code: ReturnedCode
  readonly address: string
  /** True if the address is on the user's computer. No other site can then gain from a redirect. */
  readonly isLoopback: boolean

  constructor(
    code: ReturnedCode,
    message: string,
    { address, isLoopback }: Pick<ReturnedError, 'address' | 'isLoopback'>,
  ) {
    super(message)
    this.name = 'ReturnedError'
    this.code = code
    this.address = address
    this.isLoopback = isLoopback
  }
}
