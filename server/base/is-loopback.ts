/** Loopback hosts. Traffic to them stays on this machine, so it needs no https. */

/** @param host as in a URL, or as in `HOST`, where IPv6 has no brackets */
export function isLoopback(host: string): boolean {
  return /^(([^/]+\.)?localhost|127(\.\d+){3}|\[?::1\]?)$/.test(host)
}
