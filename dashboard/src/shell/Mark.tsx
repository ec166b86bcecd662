export function Mark({ size }: { size: number }) {
  return <img src="/favicon.svg" width={size} height={size} alt="" />;
}
