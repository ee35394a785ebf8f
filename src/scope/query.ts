/** Reading a canonical query, for the trap guards: no decoding beyond what names need. */
export interface QueryParameter {
  /** Lower case, without array brackets: `F[0]`, `f%5B%5D` and `f` are one name. */
  readonly name: string;
  readonly value: string;
}

/** Parameters of a query without its `?`; 0 for an empty one. */
export function countParameters(query: string): number {
  if (query === '') return 0;
  let count = 1;
  for (let at = query.indexOf('&'); at >= 0; at = query.indexOf('&', at + 1)) count++;
  return count;
}

/** `query` is canonical, so it has no empty parameters. */
export function readParameters(query: string): QueryParameter[] {
  if (query === '') return [];
  return query.split('&').map((parameter) => {
    const equals = parameter.indexOf('=');
    const name = (equals < 0 ? parameter : parameter.slice(0, equals)).toLowerCase();
    return { name: withoutBrackets(name), value: equals < 0 ? '' : parameter.slice(equals + 1) };
  });
}

function withoutBrackets(name: string): string {
  if (!name.endsWith(']') && !name.endsWith('%5d')) return name;
  const open = name.search(/\[|%5b/);
  return open > 0 ? name.slice(0, open) : name;
}
