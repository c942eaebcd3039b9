/** W3C Trace Context: the trace that a request belongs to. */

/**
 * The trace id of a `traceparent` header; undefined where it is missing or invalid. A version above 00 may have further
 * fields. Source: https://www.w3.org/TR/trace-context/, 3.2.
 */
export function traceIdOf(sent: unknown): string | undefined {
  if (typeof sent !== 'string') return undefined
  const [, version, trace = '', parent = '', more] =
    /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-[\da-f]{2}(-.*)?$/.exec(sent) ?? []
  const isKnown = version !== undefined && version !== 'ff' && (version !== '00' || more === undefined)
  return isKnown && !/^0+$/.test(trace) && !/^0+$/.test(parent) ? trace : undefined
}
