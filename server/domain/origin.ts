/** How a request came to the service. */

export const doors = ['rest', 'mcp', 'page', 'push', 'fetch', 'command'] as const

/** The part of the service that a request uses. */
export type Door = (typeof doors)[number]

export interface Origin {
  readonly door: Door
  readonly requestId: string
  /** The IP address, as trusted proxies report it. */
  readonly address: string
  /** The first 500 characters of the header. */
  readonly userAgent?: string
  /** The name that a program gives itself in the header `Grove-Agent`. */
  readonly agent?: string
}
