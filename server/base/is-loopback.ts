/** Whether a host is this machine: what is sent to it stays here, so it needs no https. */

/** @param host as in a URL, or as `HOST` has it, without the brackets of IPv6 */
export function isLoopback(host: string): boolean {
  return /^(([^/]+\.)?localhost|127(\.\d+){3}|\[?::1\]?)$/.test(host)
}
