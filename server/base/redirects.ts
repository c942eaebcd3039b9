/** Redirect URIs: the addresses to which the answer of a consent may go. */

/**
 * `OAUTH_REDIRECTS` by default: the callbacks that these programs document. Anyone can register a program under any
 * name, so a further host could receive the codes of users that it has deceived. So could a page of these hosts that
 * leads elsewhere. One that ends in a slash is followed by an id.
 */
export const defaultRedirects: readonly string[] = [
  'https://claude.ai/api/mcp/auth_callback',
  'https://claude.com/api/mcp/auth_callback',
  'https://chatgpt.com/connector_platform_oauth_redirect',
  'https://chatgpt.com/connector/oauth/',
  'https://vscode.dev/redirect',
  'https://insiders.vscode.dev/redirect',
  'https://www.cursor.com/agents/mcp/oauth/callback',
  'cursor://anysphere.cursor-mcp/oauth/callback',
]

/** Characters of a redirect URI. */
const longest = 512

/** Schemes that run code, read files, or are not private to one program. */
const refusedSchemes = new Set(
  'about blob chrome data file filesystem ftp http https intent javascript mailto sms tel vbscript view-source ws wss'
    .split(' ')
    .map((name) => `${name}:`),
)

/** True for a URI, a host, or a private scheme with its colon. */
export function isRedirectEntry(entry: string): boolean {
  if (entry.includes('://')) {
    const url = parsed(entry)
    return url?.search === '' && (url.protocol === 'https:' || !refusedSchemes.has(url.protocol))
  }
  if (entry.endsWith(':')) return /^[a-z][a-z\d+.-]*:$/.test(entry) && !refusedSchemes.has(entry)
  return /^[a-z\d-]+(\.[a-z\d-]+)*$/.test(entry)
}

/** A URI that is ASCII and names neither a user nor a fragment. Undefined: it is not one. */
function parsed(uri: string): URL | undefined {
  if (uri.length > longest || !/^[a-z][\x21-\x7e]*$/.test(uri) || /["#\\^`{|}<>]/.test(uri)) return undefined
  if (!URL.canParse(uri)) return undefined
  const url = new URL(uri)
  return url.username === '' && url.password === '' ? url : undefined
}

const loopback = /^http:\/\/(127\.0\.0\.1|\[::1\]|localhost)(?::\d{1,5})?(?=[/?]|$)/

/** True if the URI leads to a program on the user's computer. Source: RFC 8252 §7.3. */
function isLoopbackRedirect(uri: string): boolean {
  return loopback.test(uri) && parsed(uri) !== undefined
}

/** True if a program that registered itself may name the URI. @param allowed the entries of `OAUTH_REDIRECTS` */
export function mayRegister(uri: string, allowed: readonly string[]): boolean {
  const url = parsed(uri)
  if (url === undefined) return false
  return isLoopbackRedirect(uri) || isAllowed(url, uri, allowed)
}

function isAllowed(url: URL, uri: string, allowed: readonly string[]): boolean {
  if (allowed.some((entry) => isBelow(uri, entry))) return true
  if (url.protocol === 'https:') return url.port === '' && allowed.includes(url.hostname)
  return !refusedSchemes.has(url.protocol) && allowed.includes(url.protocol)
}

/** True if the URI is the entry. If that ends in a slash, one segment of its path follows. */
function isBelow(uri: string, entry: string): boolean {
  if (!entry.includes('://')) return false
  return entry.endsWith('/') ? uri.startsWith(entry) && /^[\w-]+$/.test(uri.slice(entry.length)) : uri === entry
}

/**
 * Judges a URI in the document of a program, whose host vouches for it. `unused`: a private scheme that the operator
 * does not allow. `refused`: no program may name it.
 *
 * @param allowed the entries of `OAUTH_REDIRECTS`
 */
export function judgeDocumentRedirect(uri: string, allowed: readonly string[]): 'used' | 'unused' | 'refused' {
  const url = parsed(uri)
  if (url === undefined) return 'refused'
  if (url.protocol === 'https:' || isLoopbackRedirect(uri)) return 'used'
  if (refusedSchemes.has(url.protocol)) return 'refused'
  return isAllowed(url, uri, allowed) ? 'used' : 'unused'
}

/** True if a registered URI allows that of a request. They are the same text, but a loopback port may differ. */
export function isSameRedirect(registered: string, sent: string): boolean {
  if (registered === sent) return true
  if (!isLoopbackRedirect(registered) || !isLoopbackRedirect(sent)) return false
  return withoutPort(registered) === withoutPort(sent)
}

function withoutPort(uri: string): string {
  return uri.replace(loopback, (_, host) => `http://${host}`)
}

/** Appends parameters to a redirect URI, which otherwise stays as it is. */
export function redirectTo(uri: string, parameters: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(parameters).filter((one): one is [string, string] => one[1] !== undefined)
  return `${uri}${uri.includes('?') ? '&' : '?'}${new URLSearchParams(given)}`
}

/** The destination of an answer: the user's computer, a host, or a private scheme. */
export function destinationOf(redirectUri: string): { readonly isLoopback: boolean; readonly host: string } {
  const { host, protocol } = new URL(redirectUri)
  return { isLoopback: isLoopbackRedirect(redirectUri), host: protocol === 'https:' ? host : protocol }
}
