/** How a request came to the service. */

/** The part of the service that a request uses. */
export type Door = 'rest' | 'mcp' | 'page' | 'push' | 'fetch' | 'command'

export interface Origin {
  readonly door: Door
  readonly requestId: string
  /** The IP address, as trusted proxies report it. */
  readonly address: string
  /** The first 500 characters of the header. */
  readonly userAgent?: string
}
